"""`check_algorithm`: what every algorithm promises to the loop, the store and the engines."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from selfpaced.learners.mastery_pacing import Mastery
from selfpaced.maths.arrays import check_at_least
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.mastery_rule import MOVES
from selfpaced.maths.randomness import streams_of
from selfpaced.targets.target import samples_in
from selfpaced.testing.assertions import (
    require,
    require_methods,
    require_outcomes,
    require_trajectories,
    require_unchanged,
)
from selfpaced.testing.configurations import check_configuration
from selfpaced.testing.exact_state import (
    json_text,
    require_same,
    require_same_states,
    same_states,
    saved_policy,
    through_file,
)
from selfpaced.testing.global_random_state import watched
from selfpaced.types import Algorithm, Problem, Record, State

SLACK = 1.01
"""How far a realised KL may exceed its bound, by rounding and the tolerance of solvers."""


def check_algorithm(
    config: Algorithm, problem: Problem, *, iterations: int = 4, seed: int = 0
) -> None:
    """Check that `config` and the training that it starts on `problem` obey their protocols.

    A training of `iterations` updates is repeated with the same seed, measured on the way, and
    stopped and restored half-way, which must change nothing. Where the configuration has an
    `epsilon` and records have a `kl_policy`, no update may go further; see `check_kl_bounds`.

    >>> import numpy as np
    >>> from selfpaced import SPRL, Box, FunctionTask, Gaussian, Problem
    >>> from selfpaced.testing import check_algorithm
    >>> boxes = Box([-1], [1]), Box([-2], [2])
    >>> task = FunctionTask(lambda contexts, thetas: -(thetas - contexts)[:, 0] ** 2, *boxes)
    >>> problem = Problem(task, Gaussian([0.9], [[1e-4]]))
    >>> check_algorithm(SPRL(n_samples=20, buffer_size=2), problem)
    """
    check_at_least("iterations", iterations, 2)
    check_configuration(config)
    half = iterations // 2
    whole = _WatchedTraining(config, problem, seed)
    first = whole.advance(1)
    early = whole.saved()
    first += whole.advance(half - 1)
    policy, state, spent = whole.policy(), whole.saved(), whole.training.spent
    rest = whole.advance(iterations - half)
    if hasattr(config, "epsilon") and "kl_policy" in whole.records[0]:
        check_kl_bounds(config, whole.records)

    twin = _WatchedTraining(config, problem, seed)
    twin.measure()
    rule = "the same seed must give the same run, measured or not"
    twin.require_records(rule, first, twin.advance(half))
    before = twin.saved()
    twin.measure()
    require_same_states(f"{twin.who}.measure must not change the training", before, twin.saved())
    twin.require_records(rule, rest[:1], twin.advance(1))

    other = _WatchedTraining(config, problem, seed + 1)
    other.advance(1)
    # Not the records, which are the same where nothing was rewarded yet.
    require(
        not same_states(early, other.saved()),
        f"{other.who} must depend on the seed; another one led to the same state",
    )

    resumed = _WatchedTraining(config, problem, seed + 2)  # its own seed must not matter
    resumed.restore(state)
    sentence = f"{resumed.who} that was restored must equal one without interruption"
    require(
        resumed.training.spent == spent,
        f"{sentence}; it has spent {resumed.training.spent} instead of {spent}",
    )
    require_same_states(f"{sentence}; policies differ", policy, resumed.policy())
    resumed.require_records(sentence, rest, resumed.advance(iterations - half))
    require_same_states(f"{sentence}; states differ", whole.saved(), resumed.saved())


def check_kl_bounds(config: Algorithm, records: Sequence[Mapping[str, Any]]) -> None:
    """Check that no update in `records` has moved further than the `epsilon` of `config`.

    The realised KLs of policy and contexts, `kl_policy` and `kl_contexts`, count together. With
    `Mastery` epsilon bounds the policy alone (its `search_epsilon` during the search), and the step
    of its rule bounds KL(new || old) of the contexts. Updates after which a floor raised a variance
    or an entropy are left out, for the floor goes before the bound.

    >>> from selfpaced import CREPS
    >>> from selfpaced.testing import check_kl_bounds
    >>> check_kl_bounds(CREPS(epsilon=0.4), [{"kl_policy": 0.39}, {"kl_policy": 0.2}])
    >>> check_kl_bounds(CREPS(epsilon=0.4), [{"kl_policy": 0.5}])
    Traceback (most recent call last):
    AssertionError: update 1 of CREPS must not exceed its KL bound; policy and contexts moved by ...
    """
    epsilon = getattr(config, "epsilon", None)
    if epsilon is None:
        raise ValueError(f"config must have a bound epsilon; {type(config).__name__} has none")
    who, pacing = type(config).__name__, getattr(config, "pacing", None)
    for number, record in enumerate(records, start=1):
        require(
            "kl_policy" in record,
            f"update {number} of {who}, which has an epsilon, must record its kl_policy; "
            f"it recorded {sorted(record)}",
        )
        if record.get("variance_raised") or record.get("entropy_raised"):
            continue
        if isinstance(pacing, Mastery):
            searches = record.get("move") == MOVES.index("search")
            bound = (pacing.search_epsilon if searches else None) or epsilon
            moves = [("the policy", record["kl_policy"], bound)]
            if number > 1:
                kl = _contexts(record).kl(_contexts(records[number - 2]))
                moves.append(("contexts", kl, pacing.rule.step))
        else:
            kl = record["kl_policy"] + record.get("kl_contexts", 0.0)
            moves = [("policy and contexts", kl, epsilon)]
        for what, kl, bound in moves:
            require(
                kl <= SLACK * bound,  # false of nan, too
                f"update {number} of {who} must not exceed its KL bound; {what} moved by {kl} "
                f"nats, and the bound is {bound}",
            )


def _contexts(record: Mapping[str, Any]) -> Gaussian:
    """The contexts that the batch of a record was drawn from."""
    return Gaussian(record["context_mean"], record["context_covariance"])


class _WatchedTraining:
    """A new training, of which every call is checked for what must hold of all calls."""

    def __init__(self, config: Algorithm, problem: Problem, seed: int) -> None:
        call = f"{type(config).__name__}.start"
        with watched(call):
            self.training = config.start(problem, streams_of(seed))
        self.who, self.problem = type(self.training).__name__, problem
        self.records: list[Record] = []
        methods = ("advance", "measure", "trajectories", "state", "restore")
        require_methods("training", self.training, *methods)

    def advance(self, iterations: int) -> list[str]:
        """The records of the next iterations as JSON text; what is spent must grow."""
        call, texts = f"{self.who}.advance", list[str]()
        for _ in range(iterations):
            before = self.training.spent
            with watched(call):
                record = dict(self.training.advance())
            self.records.append(record)
            texts.append(json_text(f"the record of {call}", record))
            after = self.training.spent
            require(
                after.rollouts >= before.rollouts and after.steps >= before.steps,
                f"{self.who}.spent must grow; it went from {before} to {after}",
            )
        require(
            self.training.spent > (0, 0),
            f"{self.who}.spent must grow; after {iterations} updates it is {self.training.spent}",
        )
        return texts

    def require_records(self, rule: str, expected: list[str], found: list[str]) -> None:
        for number, (one, other) in enumerate(zip(expected, found, strict=True), start=1):
            require(
                one == other,
                f"{self.who}: {rule}; record {number} is {_first_difference(one, other)}",
            )

    def measure(self) -> None:
        """Outcomes and trajectories on the target, from a generator of their own."""
        n, box = 10, self.problem.task.context_space
        contexts = samples_in(self.problem.target, n, np.random.default_rng(5), box)
        call, given = f"{self.who}.measure", contexts.copy()
        with watched(call):
            first, again = (
                self.training.measure(given, np.random.default_rng(5)) for _ in range(2)
            )
            paths: Any = self.training.trajectories(given[:2], np.random.default_rng(5))
        require_unchanged(call, contexts=(contexts, given))
        require_outcomes(call, first, n)
        require_same(
            f"{call} must give the same rewards for the same generator",
            first.rewards,
            again.rewards,
        )
        if paths is not None:
            require_trajectories(f"{self.who}.trajectories", paths, 2)

    def policy(self) -> State:
        return saved_policy(f"{self.who}.policy", self.training.policy)

    def saved(self) -> State:
        with watched(f"{self.who}.state"):
            state = self.training.state()
        return through_file(f"{self.who}.state()", state)

    def restore(self, state: State) -> None:
        with watched(f"{self.who}.restore"):
            self.training.restore(state)


def _first_difference(one: str, other: str) -> str:
    """Two texts, from a little before the place where they differ."""
    place = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), 0)  # noqa: B905
    start = max(0, place - 40)
    return f"...{other[start : place + 40]!r} instead of ...{one[start : place + 40]!r}"
