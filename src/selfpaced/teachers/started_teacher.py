"""What the library's teachers share once they are started: who they are, and checks of states."""

from collections.abc import Sequence
from typing import Any, ClassVar

from selfpaced.maths.box import Box
from selfpaced.teachers.episodes import how_to_succeed
from selfpaced.types import State


class StartedTeacher:
    """A teacher that knows what it was started with."""

    _box: Box
    _option: ClassVar[str] = ""  # how to judge by returns instead of successes, if one can

    @property
    def needs_successes(self) -> bool:
        """True if episodes without a success or a failure are an error."""
        config = getattr(self, "_config", None)
        judged_by = getattr(self, "_judged_by", None) or getattr(config, "judged_by", None)
        return judged_by == "success"

    def refuse_unknown_successes(self) -> None:
        """Raise a ValueError that says what to write, if successes are needed and not defined.

        Whoever knows before the first episode that there are no successes calls it.
        """
        if self.needs_successes:
            raise ValueError(
                f"{type(self).__name__} needs successes, and none are defined. "
                + how_to_succeed(self._option)
            )

    @property
    def _columns(self) -> int:
        """Columns of the contexts in a state; teachers that take distances embed them."""
        return self._box.dimension

    @property
    def identity(self) -> dict[str, Any]:
        """Configuration, context space and target, as far as its contexts depend on them.

        A state can only be restored by a teacher with the same identity; `Curriculum` checks it.
        """
        known = {"teacher": getattr(self, "_config", type(self).__name__)}
        target = getattr(self, "_target", None)
        return known | {"context_space": self._box} | ({} if target is None else {"target": target})

    def _check_state(self, state: State, names: Sequence[str], rows: Sequence[str] = ()) -> None:
        """Raise a ValueError unless `state` can be one of this teacher.

        It must have the entries `names`, of which `rows` have one column per context dimension.
        """
        who = type(self).__name__
        missing = [name for name in names if name not in state]
        if missing:
            raise ValueError(
                f"state must be one that {who} has saved; it has no {missing[0]!r}, so it belongs "
                "to another teacher"
            )
        if state and not names:
            raise ValueError(
                f"state must be empty, because {who} remembers nothing; it has {sorted(state)[0]!r}"
                ", so it belongs to another teacher"
            )
        for name in rows:
            columns = state[name].shape[-1]
            if columns != self._columns:
                raise ValueError(
                    f"state must be of contexts with {self._columns} dimensions; those in "
                    f"{name!r} have {columns}"
                )
