"""A teacher with the contexts that it has handed out: a curriculum for any training loop.

Nothing here needs Gymnasium, Stable-Baselines3 or torch.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.deep.contexts_in_flight import ContextsInFlight
from selfpaced.deep.curriculum_identity import check_identity, identity_of, started
from selfpaced.deep.finished_episodes import Episodes, checked_column, checked_ids, joined
from selfpaced.deep.framework_arrays import (
    array_as_text,
    array_from_text,
    in_the_framework_of,
)
from selfpaced.learners.episodic import described
from selfpaced.maths.arrays import Array, IntArray, check_at_least, mean_of_known
from selfpaced.maths.blas import one_blas_thread
from selfpaced.maths.box import Box
from selfpaced.maths.randomness import generator_state, restored_generator
from selfpaced.spaces.refusals import RefusedContexts
from selfpaced.spaces.space import checked_space
from selfpaced.targets.target import Target
from selfpaced.types import State, Teacher, TeacherConfig, part_of, prefixed


class Curriculum:
    """A teacher, and the bookkeeping of which environment plays which of its contexts.

    >>> import numpy as np
    >>> from selfpaced import Box, Curriculum, Gaussian, SelfPacedThreshold
    >>> target = Gaussian([0.9], [[1e-4]])
    >>> curriculum = Curriculum(SelfPacedThreshold(), Box([0], [1]), target)
    >>> contexts = curriculum.next_contexts(np.arange(1000))  # one for each environment
    >>> ended = np.array([7, 3, 500])  # these episodes are over, in any order
    >>> curriculum.finished(ended, returns=[0.2, 1.0, 0.4], successes=[0, 1, 0])
    >>> curriculum.next_contexts(ended).shape
    (3, 1)

    Arrays may be of NumPy, torch or JAX, on any device. Contexts come back in the framework of
    `environment_ids`. An environment may have several contexts in flight: they are played in the
    order in which they were handed out. `state_dict` and `load_state_dict` go into a checkpoint
    of torch, Flax or RLlib.

    `teacher`: a configuration, such as `SelfPacedThreshold()`, which is started here for contexts
    in `context_space` that shall be mastered on `target`; or a teacher that is started already,
    for which both may be left out. `seed`: of the teacher's draws, or a generator.
    `record_every`: episodes between two records of the curriculum. `record`: a function of the
    record, for example a `Logbook`, which keeps it in a store.
    """

    teacher: Teacher
    """What chooses the contexts."""
    context_space: Box | None
    """Which contexts exist; None if nobody has said."""
    target: Target | None
    """The contexts that shall be mastered in the end; None if nobody has said."""
    episodes: int
    """Episodes finished so far."""
    refusals: RefusedContexts
    """Contexts that environments have refused."""

    def __init__(
        self,
        teacher: Teacher | TeacherConfig,
        context_space: Box | None = None,
        target: Target | None = None,
        *,
        seed: int | np.random.Generator = 0,
        record_every: int = 50,
        record: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        if context_space is not None:
            context_space = checked_space(context_space)
        self.teacher = started(teacher, context_space, target)
        self.context_space, self.target = context_space, target
        self._identity = identity_of(teacher, self.teacher, context_space, target)
        self.episodes = 0
        self._rng = np.random.default_rng(seed)
        self._record_every = check_at_least("record_every", record_every, 1)
        self._record = record
        self._ended: list[Episodes] = []  # since the last record
        self._records = 0
        self._flight: ContextsInFlight | None = None  # made with the first contexts
        self.refusals = RefusedContexts(context_space)
        self._again = np.zeros((0, self._dimension))  # handed out before new ones, see below

    def __repr__(self) -> str:
        flying = 0 if self._flight is None else len(self._flight)
        counts = f"{flying} contexts in flight, {self.episodes} episodes"
        return f"Curriculum({self.teacher!r}, {counts})"

    def next_contexts(self, environment_ids: Any) -> Any:
        """One context (k, d) for each of the environments `environment_ids` (k,), which may repeat.

        Environments are numbered from 0. The contexts are of the framework of `environment_ids`,
        and on the same device.
        """
        ids = checked_ids(environment_ids)
        return in_the_framework_of(environment_ids, self._ask(ids))

    def _ask(self, ids: IntArray) -> Array:
        again = asked = self._again[: len(ids)]
        if len(again) < len(ids) or len(ids) == 0:
            asked = self._asked(len(ids) - len(again))
            asked = np.concatenate([again, asked]) if len(again) else asked
        self._again = self._again[len(ids) :]
        self._in_flight(asked.shape[1]).add(ids, asked)
        return asked.copy()

    def _asked(self, n: int) -> Array:
        """(n, d): contexts of the teacher; those near refused ones are drawn again."""

        def draw(k: int) -> Array:
            with one_blas_thread():
                rows = np.asarray(self.teacher.ask(k, self._rng), dtype=float)
            space = self.context_space
            return rows if space is None else space.check("contexts", rows)

        return self.refusals.rows_from(draw, n, self._rng)

    def refused(self, environment_ids: Any, contexts: ArrayLike | None = None) -> None:
        """Take note that environments cannot play the oldest contexts that they have in flight.

        They get others by `next_contexts`. Nothing within 5% of each width of a refused context is
        handed out again, and the teacher is not told. `contexts` (m, d): others that were refused.
        """
        ids = checked_ids(environment_ids)
        oldest = self._played(ids)
        if len(ids):
            self.refusals.add(oldest)
            self._in_flight(0).drop_oldest(ids)
        if contexts is not None and len(rows := np.asarray(contexts, dtype=float)):
            self.refusals.add(rows)

    def know_space(self, context_space: Box) -> None:
        """Say which contexts exist, if that was not known when the curriculum was made."""
        self.context_space = context_space
        self.refusals.know_space(context_space)

    def expect_no_successes(self) -> None:
        """Raise a ValueError if the teacher needs successes, before anything is trained.

        Wrappers call it if they were told that there are none.
        """
        refuse = getattr(self.teacher, "refuse_unknown_successes", None)
        if refuse is not None:
            refuse()

    def finished(
        self,
        environment_ids: Any,
        returns: Any,
        successes: Any = None,
        contexts: ArrayLike | None = None,
    ) -> None:
        """Tell the teacher of episodes that have ended, one per row, in any order.

        `environment_ids` (k,): where each was played; if an environment occurs twice, its two
        oldest contexts are meant. `returns` (k,): the sum of each episode's rewards. `successes`
        (k,): 1 or True for success; left out, they are unknown, which not every teacher accepts.
        `contexts` (k, d): what was really played, if environments may begin episodes by
        themselves; otherwise it is known here.
        """
        ids = checked_ids(environment_ids)
        values = checked_column("returns", returns, len(ids))
        told = np.full(len(ids), np.nan) if successes is None else successes
        solved = checked_column("successes", told, len(ids))
        played = self._played(ids) if contexts is None else np.array(contexts, dtype=float)
        if not np.isfinite(values).all():
            bad = np.flatnonzero(~np.isfinite(values))
            said = f"environment {ids[bad[0]]} returned {values[bad[0]]} at the context"
            raise ValueError(f"returns must be finite; {said} {played[bad[0]].tolist()}")
        with one_blas_thread():
            self.teacher.tell(played, values, solved)
        self._land(ids, None if contexts is None else played)
        self._note(Episodes(played, values, solved))

    def _played(self, ids: IntArray) -> Array:
        """(k, d): the oldest contexts in flight of the environments `ids`."""
        self._check_flying(ids)
        return self._in_flight(0).oldest(ids) if len(ids) else np.zeros((0, self._dimension))

    def _check_flying(self, ids: IntArray) -> None:
        if self._flight is not None and self._flight.has_each(ids):
            return
        numbers, wanted = np.unique(ids, return_counts=True)
        flying = np.zeros_like(wanted) if self._flight is None else self._flight.counts(numbers)
        short = np.flatnonzero(flying < wanted)
        if short.size:
            first = short[0]
            raise ValueError(
                f"environment_ids must be of environments with a context in flight; environment "
                f"{numbers[first]} has {flying[first]} and {wanted[first]} episodes ended: "
                "next_contexts must come before"
            )

    def _land(self, ids: IntArray, contexts: Array | None) -> None:
        flight = self._flight
        if flight is None or len(ids) == 0:
            return
        if contexts is None:
            flight.drop_oldest(ids)
            return
        for environment, context in zip(ids.tolist(), contexts, strict=True):
            flight.drop_until(environment, context)

    def abandoned(self, environment_ids: Any) -> None:
        """Forget the oldest context in flight of each environment: its episode was cut short.

        The teacher is told nothing of it.
        """
        ids = checked_ids(environment_ids)
        self._check_flying(ids)
        if self._flight is not None and len(ids):
            self._flight.drop_oldest(ids)

    def restart_episodes(self) -> None:
        """Hand out all contexts in flight again, before new ones: their episodes are lost.

        This is for environments that begin anew after a restart, perhaps with other numbers. So
        the teacher hears of all contexts that it has chosen. They come in the order of the
        environments that had them, and for each environment the oldest first.
        """
        contexts = self.in_flight()[1]
        self._again = np.concatenate([contexts, self._again]) if len(self._again) else contexts
        self._flight = None

    def in_flight(self) -> tuple[IntArray, Array]:
        """Environments (k,) and contexts (k, d) in flight; oldest first in each environment."""
        if self._flight is None:
            return np.zeros(0, dtype=np.int64), np.zeros((0, self._dimension))
        return self._flight.rows()

    def put_in_flight(self, environment_ids: ArrayLike, contexts: ArrayLike) -> None:
        """Take note of contexts (k, d) that environments hold already, as after a restart."""
        rows = np.asarray(contexts, dtype=float)
        if len(rows):
            self._in_flight(rows.shape[1]).add(checked_ids(environment_ids), rows)

    @property
    def _dimension(self) -> int:
        return 0 if self.context_space is None else self.context_space.dimension

    def _in_flight(self, dimension: int) -> ContextsInFlight:
        if self._flight is None:
            self._flight = ContextsInFlight(dimension)
        return self._flight

    def _note(self, episodes: Episodes) -> None:
        """Count finished episodes, and record them when it is time."""
        self._ended.append(episodes)
        self.episodes += len(episodes.returns)
        if self.episodes // self._record_every <= self._records:
            return
        self._records = self.episodes // self._record_every
        ended, self._ended = self._ended, []
        if self._record is not None:
            self._record({"iteration": self._records, **self._described(joined(ended))})

    def _described(self, episodes: Episodes) -> dict[str, Any]:
        """Rewards, successes and contexts since the last record."""
        distribution = getattr(self.teacher, "context_distribution", None)
        found: dict[str, Any] = {
            "rollouts": self.episodes,
            "reward": float(episodes.returns.mean()),
            "success": mean_of_known(episodes.successes),
            **described(distribution, episodes.contexts, self.refusals),
        }
        threshold = getattr(self.teacher, "found_threshold", None)
        return found if threshold is None else {**found, "threshold": threshold}

    def state(self) -> State:
        """Everything that later contexts depend on, as plain arrays by name."""
        ids, contexts = self.in_flight()
        return {
            "identity": np.frombuffer(json.dumps(self._identity).encode(), dtype=np.uint8),
            "rng": generator_state(self._rng),
            "episodes": np.array(self.episodes),
            "records": np.array(self._records),
            "in_flight.ids": ids,
            "in_flight.contexts": contexts,
            "again": self._again,
            **({"refused": self.refusals.contexts} if len(self.refusals) else {}),
            **prefixed("ended.", joined(self._ended)._asdict() if self._ended else {}),
            **prefixed("teacher.", self.teacher.state()),
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`; after an error everything is as it was.

        Raise a ValueError if it is the state of another teacher, context space or target. States
        of earlier versions do not say whose they are.
        """
        if "identity" in state:
            stored = np.asarray(state["identity"]).tobytes().decode()
            check_identity(json.loads(stored), self._identity)
        missing = [name for name in ("rng", "episodes", "records") if name not in state]
        if missing:
            raise ValueError(f"state must be one of a curriculum; it has no {missing[0]!r}")
        rng = restored_generator(state["rng"])
        episodes, records = int(state["episodes"]), int(state["records"])
        ended = part_of(state, "ended.")
        flight = None
        if len(state.get("in_flight.ids", ())):
            if "in_flight.contexts" not in state:
                raise ValueError("state must be whole; it has no 'in_flight.contexts'")
            contexts = np.array(state["in_flight.contexts"], dtype=float)
            flight = ContextsInFlight(contexts.shape[1])
            flight.add(np.array(state["in_flight.ids"]), contexts)
        before = {name: np.array(value) for name, value in self.teacher.state().items()}
        try:
            self.teacher.restore(part_of(state, "teacher."))
        except Exception as error:
            self.teacher.restore(before)
            if isinstance(error, ValueError):
                raise
            raise ValueError(
                f"state must be one of {type(self.teacher).__name__}; restoring it failed: "
                f"{type(error).__name__}: {error}"
            ) from error
        self._rng, self.episodes, self._records = rng, episodes, records
        self._ended = [Episodes(**ended)] if ended else []
        self._flight = flight
        self.refusals = RefusedContexts(self.context_space)
        self.refusals.contexts = np.array(state.get("refused", self.refusals.contexts))
        self._again = np.array(state.get("again", np.zeros((0, self._dimension))))

    def state_dict(self) -> dict[str, Any]:
        """The state as whole numbers and text, which every checkpoint can hold.

        `torch.load` reads it with its default `weights_only=True`.
        """
        return {name: array_as_text(value) for name, value in self.state().items()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue exactly from what `state_dict` returned; after an error all is as it was."""
        found = dict(state_dict)
        if "identity" not in found:
            raise ValueError(
                f"state_dict must be what Curriculum.state_dict returned; it has the entries "
                f"{sorted(found)[:5]}"
            )
        self.restore({name: array_from_text(name, value) for name, value in found.items()})
