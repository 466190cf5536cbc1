"""Everything public says what it is, where `help()`, editors and API references look for it."""

import ast
import doctest
import importlib
import pydoc
from pathlib import Path

import pytest

import selfpaced

ROOT = Path(selfpaced.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
# Classes that people use start with an example.
EXAMPLES = (
    *("SPRL", "CREPS", "CMAES", "Mastery", "Alpha", "ContextualEnv", "CurriculumCallback"),
    *("FunctionTask", "RowTask", "Problem", "Experiment"),
    *(name for name in selfpaced.__all__ if selfpaced._MODULE_OF.get(name) == "teachers"),
)


def is_public(name):
    return not name.startswith("_")


def undocumented_fields(tree):
    """Names of the fields of public classes that no docstring follows."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and is_public(node.name):
            for field, after in zip(node.body, [*node.body[1:], None], strict=True):
                names = field_names(field)
                documented = isinstance(after, ast.Expr) and isinstance(
                    getattr(after.value, "value", None), str
                )
                if not documented:
                    yield from (f"{node.name}.{name}" for name in names if is_public(name))


def field_names(node):
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_field_has_a_docstring(path):
    found = list(undocumented_fields(ast.parse(path.read_text())))
    assert not found, f"{path.relative_to(ROOT)}: no docstring after {', '.join(found)}"


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_people_use_starts_with_an_example_that_runs(name):
    found = getattr(selfpaced, name)
    module = importlib.import_module(found.__module__)
    tests = doctest.DocTestFinder(recurse=False).find(found, name, module=module, globs={})
    examples = [test for test in tests if test.examples]
    assert examples, f"{name} has no example in its docstring"
    assert len(examples[0].examples) <= 12
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in examples:
        assert runner.run(test).failed == 0, f"the example of {name} does not run"


def test_help_shows_the_fields_with_what_they_are():
    shown = pydoc.render_doc(selfpaced.SPRL, renderer=pydoc.plaintext)
    assert "\n |  epsilon: float = 0.4\n" in shown
    assert "KL bound of one update, in nats" in shown
    assert "successes: Array" in pydoc.render_doc(selfpaced.Outcomes, renderer=pydoc.plaintext)
    assert "Fields:" not in selfpaced.TargetTeacher.__doc__  # it has none


@pytest.mark.parametrize("name", sorted(set(selfpaced.__all__) - {"__version__", "EXPERIMENTS"}))
def test_every_public_name_has_a_docstring_that_stands_alone(name):
    found = getattr(selfpaced, name)
    first = (found.__doc__ or "").strip().split("\n")[0]
    assert first.endswith((".", ":")), f"{name}: {first!r} is not a sentence"
