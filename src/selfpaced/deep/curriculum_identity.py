"""Whose state it is: teachers that are started, and what they were started with."""

from typing import Any, cast

from selfpaced.maths.arrays import has_method
from selfpaced.maths.box import Box
from selfpaced.spaces.space import checked_space
from selfpaced.store.files import plain
from selfpaced.targets.target import Target
from selfpaced.types import Teacher, TeacherConfig

Identity = dict[str, Any]
"""What a state depends on, as plain data: "teacher", "context_space" and "target"."""


def started(
    teacher: Teacher | TeacherConfig, context_space: Box | None, target: Target | None
) -> Teacher:
    """`teacher`, started if it is a configuration; raise a ValueError if it is neither."""
    if context_space is not None:
        checked_space(context_space)
    if target is not None and not has_method(target, "sample"):
        raise ValueError(
            "target must be a distribution, such as a Gaussian, or have a method "
            f"sample(n, rng); got {target!r}"
        )
    if has_method(teacher, "ask") and has_method(teacher, "tell"):
        return cast(Teacher, teacher)
    if not has_method(teacher, "start"):
        raise ValueError(
            f"teacher must be a configuration such as SelfPacedThreshold(), or what its start() "
            f"returns; got {teacher!r}"
        )
    if context_space is None or target is None:
        raise ValueError(
            f"teacher must be started, as {type(teacher).__name__}().start(context_space, target) "
            f"does, or context_space and target must be given; got {teacher!r}"
        )
    return cast(TeacherConfig, teacher).start(context_space, target)


def identity_of(
    given: Teacher | TeacherConfig, teacher: Teacher, space: Box | None, target: Target | None
) -> Identity:
    """What a state depends on, as plain data: configuration, context space and target.

    A started teacher that does not say, as one of your own may not, is known by its class alone.
    """
    config = type(teacher).__name__ if given is teacher else given
    known: dict[str, Any] = {"teacher": config, **getattr(teacher, "identity", {})}
    for name, value in (("context_space", space), ("target", target)):
        if value is not None:
            known[name] = value
    found: dict[str, Any] = plain(known)
    if "target" in found:
        found["target"].pop("chol", None)  # computed, and not to the last bit on every machine
    return found


def check_identity(stored: Identity, ours: Identity) -> None:
    """Raise a ValueError that says what differs, if a state belongs to another curriculum."""
    for name, words in (
        ("teacher", "teacher"),
        ("context_space", "context space"),
        ("target", "target"),
    ):
        theirs, here = stored.get(name), ours.get(name)
        if theirs is not None and here is not None and _differ(theirs, here):
            raise ValueError(
                f"the state belongs to another {words}: it was saved with {_words(theirs)}, and "
                f"this curriculum has {_words(here)}. Start the same {words} to go on"
            )


def _differ(theirs: Any, ours: Any) -> bool:
    """True if two identities differ in something that both of them name.

    So a state can still be read when a later version adds a field to a configuration.
    """
    if isinstance(theirs, dict) and isinstance(ours, dict):
        one, other = cast(dict[str, Any], theirs), cast(dict[str, Any], ours)
        return any(_differ(one[name], other[name]) for name in one.keys() & other.keys())
    return theirs != ours


def _words(part: Any) -> str:
    """A part of an identity as people would write it."""
    if not isinstance(part, dict):
        return str(part)
    values = dict(cast(dict[str, Any], part))
    kind = values.pop("type", "")
    return f"{kind}({', '.join(f'{name}={_words(value)}' for name, value in values.items())})"
