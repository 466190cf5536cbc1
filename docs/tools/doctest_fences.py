"""Shows the examples in docstrings as code: lines from ">>>" to the next empty line get a fence."""

import re

import griffe

EXAMPLE = re.compile(
    r"(?:^>>> .*\n?(?:^(?!>>> )\S.*\n?|^>>> .*\n?|^\.\.\..*\n?|^ +\S.*\n?)*)", re.M
)


class DoctestFences(griffe.Extension):
    """Wraps doctest examples in fenced code blocks, which Markdown would take for quotations."""

    def on_object(self, *, obj, **_):
        """Rewrite the docstring of `obj`."""
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            obj.docstring.value = EXAMPLE.sub(
                lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", obj.docstring.value
            )
