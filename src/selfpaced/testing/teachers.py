"""`check_teacher`: what every teacher promises, whoever it drives."""

from collections.abc import Callable

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.box import Box
from selfpaced.targets.target import Target
from selfpaced.testing.assertions import (
    must_work,
    require,
    require_floats,
    require_methods,
    require_unchanged,
)
from selfpaced.testing.configurations import check_configuration, check_constructor_repr
from selfpaced.testing.exact_state import require_same, require_same_states, through_file
from selfpaced.testing.global_random_state import watched
from selfpaced.types import State, Teacher, TeacherConfig

SIZES = (0, 1, 2, 3, 7, 100)
"""Numbers of contexts that are asked for."""
LONGEST_REPR = 300
"""Characters that a running teacher may print as."""


def check_teacher(
    config: TeacherConfig, context_space: Box, target: Target, *, seed: int = 0
) -> None:
    """Check that `config` and the teacher that it starts obey the protocols of a teacher.

    The teacher chooses contexts in `context_space` that shall be mastered on `target`; it is told
    of successes and failures, of few episodes and many, of its own contexts and of others.

    >>> import numpy as np
    >>> from selfpaced import Box, CurrOT, Gaussian
    >>> from selfpaced.testing import check_teacher
    >>> check_teacher(CurrOT(), Box([0], [1]), Gaussian([0.9], [[1e-4]]))
    """
    check_configuration(config)
    check_constructor_repr(config)
    with must_work(f"{type(config).__name__}.start"):
        teacher = config.start(context_space, target)
    require_methods("teacher", teacher, "ask", "tell", "state", "restore")

    def start() -> _WatchedTeacher:
        return _WatchedTeacher(config.start(context_space, target), context_space)

    _check_requests(start, seed)
    _check_repeatable(start, seed)
    _check_restored(start, seed)
    _check_any_episodes(start, seed)


class _WatchedTeacher:
    """A teacher, of which every call is checked for what must hold of all calls."""

    def __init__(self, teacher: Teacher, box: Box) -> None:
        self.teacher, self.box, self.who = teacher, box, type(teacher).__name__

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        call = f"{self.who}.ask({n})"
        with watched(call):
            contexts = self.teacher.ask(n, rng)
        require_floats(f"contexts of {call}", contexts, (n, self.box.dimension))
        outside = np.flatnonzero(~self.box.contains(contexts))  # nan is outside, too
        if outside.size:
            raise AssertionError(
                f"contexts of {call} must lie in {self.box}; {outside.size} of {n} do not, "
                f"first row {outside[0]}: {contexts[outside[0]].tolist()}"
            )
        infeasible = np.flatnonzero(~self.box.feasible(contexts))
        if infeasible.size:
            raise AssertionError(
                f"contexts of {call} must be feasible in {self.box}; {infeasible.size} of {n} are "
                f"not, first row {infeasible[0]}: {contexts[infeasible[0]].tolist()}"
            )
        return contexts.copy()

    def tell(self, contexts: Array, successes: Array) -> None:
        """Tell of episodes whose returns are three for a success and nothing for a failure."""
        call = f"{self.who}.tell of {len(contexts)} episodes"
        rewards = 3.0 * successes
        given = contexts.copy(), rewards.copy(), successes.copy()
        with watched(call):
            self.teacher.tell(*given)
        require_unchanged(
            call,
            contexts=(contexts, given[0]),
            rewards=(rewards, given[1]),
            successes=(successes, given[2]),
        )

    def practise(
        self, rng: np.random.Generator, batches: int, success: float | None = None
    ) -> Array:
        """All contexts of `batches` asks; success is likelier at low values of the first one.

        With a number as `success` all episodes end with it.
        """
        drawn: list[Array] = []
        for _ in range(batches):
            contexts = self.ask(30, rng)
            chance = 1.0 - (contexts[:, 0] - self.box.low[0]) / self.box.width[0]
            successes = (rng.random(len(contexts)) < chance).astype(float)
            self.tell(contexts, successes if success is None else np.full(len(contexts), success))
            drawn.append(contexts)
        return np.concatenate(drawn)

    def saved(self) -> State:
        with watched(f"{self.who}.state"):
            state = self.teacher.state()
        return through_file(f"{self.who}.state()", state)

    def restore(self, state: State) -> None:
        with watched(f"{self.who}.restore"):
            self.teacher.restore(state)


def _check_requests(start: Callable[[], _WatchedTeacher], seed: int) -> None:
    """Any number of contexts may be asked for, by a new teacher and by one at work."""
    new, rng = start(), np.random.default_rng(seed)
    for n in SIZES:
        new.ask(n, rng)
    busy = start()
    busy.practise(rng, 3)
    for n in SIZES:
        busy.ask(n, rng)
    shown = repr(busy.teacher)
    require(
        len(shown) < LONGEST_REPR and "\n" not in shown,
        f"repr of {busy.who} must be one line of less than {LONGEST_REPR} characters; "
        f"got {len(shown)}: {shown[:LONGEST_REPR]}",
    )


def _check_repeatable(start: Callable[[], _WatchedTeacher], seed: int) -> None:
    one, other = start(), start()
    require_same(
        f"{one.who} must ask for the same contexts, given the same generator and episodes",
        one.practise(np.random.default_rng(seed), 8),
        other.practise(np.random.default_rng(seed), 8),
    )


def _check_restored(start: Callable[[], _WatchedTeacher], seed: int) -> None:
    """A restored teacher goes on as the one that was saved, at once and at work.

    Some contexts are under way when it is saved: their episodes end much later.
    """
    for batches in (0, 7, 20):
        whole, resumed, rng = start(), start(), np.random.default_rng(seed)
        under_way = np.zeros((0, whole.box.dimension))
        if batches:
            whole.practise(rng, batches)
            asked_for = np.concatenate([whole.ask(n, rng) for n in (13, 1, 3)])
            whole.tell(asked_for[:5], np.ones(5))
            under_way = asked_for[5:]
        state = whole.saved()
        resumed.restore(state)
        when = f"restored after {batches} batches of episodes"
        require_same_states(
            f"{whole.who} {when} must have the state it was given", state, resumed.saved()
        )
        asked: list[Array] = []
        for teacher in (whole, resumed):
            later = np.random.default_rng(seed + 1)
            few = teacher.ask(2, later)
            before = teacher.practise(later, 4)
            teacher.tell(under_way, (np.arange(len(under_way)) % 2).astype(float))
            asked.append(np.concatenate([few, before, teacher.practise(later, 4)]))
        require_same(
            f"{whole.who} {when} must ask for the same contexts as without interruption: state() "
            "must hold all that they depend on, and ask must draw from its rng alone",
            *asked,
        )
        require_same_states(
            f"{whole.who} {when} must have the same state later on", whole.saved(), resumed.saved()
        )


def _check_any_episodes(start: Callable[[], _WatchedTeacher], seed: int) -> None:
    """A teacher goes on asking for contexts in the box, whatever it is told."""
    for success in (0.0, 1.0):
        start().practise(np.random.default_rng(seed), 15, success)

    repeats, rng = start(), np.random.default_rng(seed)
    nothing = np.zeros((0, repeats.box.dimension)), np.zeros(0)
    place = repeats.box.low + 0.6 * repeats.box.width
    same = repeats.box.snapped(np.tile(place, (500, 1)))
    repeats.tell(*nothing)
    for _ in range(4):
        repeats.ask(10, rng)
        repeats.tell(*nothing)
        repeats.tell(same, (rng.random(500) < 0.5).astype(float))
    repeats.ask(50, rng)

    foreign = start()  # contexts that the teacher did not ask for, among them a corner of the box
    for contexts in (foreign.box.low[None], foreign.box.uniform(10_000, rng)):
        foreign.ask(1, rng)
        foreign.tell(contexts, (rng.random(len(contexts)) < 0.3).astype(float))
    foreign.ask(100, rng)
    foreign.practise(rng, 3)
