"""`check_learner`: what every learner promises to whoever closes its loop."""

from dataclasses import replace
from reprlib import repr as shortened
from typing import Any

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.maths.randomness import generator_state, restored_generator
from selfpaced.testing.assertions import (
    is_pair,
    must_refuse,
    must_work,
    require,
    require_finite,
    require_floats,
    require_methods,
    require_unchanged,
)
from selfpaced.testing.exact_state import (
    json_text,
    require_same,
    require_same_states,
    saved_policy,
    through_file,
)
from selfpaced.testing.global_random_state import watched
from selfpaced.types import Learner, Metrics, Samples, State, Task

PATIENCE = 200
"""Batches after which a learner must have updated its policy."""
HINT = "selfpaced.learners.episodic.checked_samples, called first in tell, refuses such samples"
"""What to do about samples that a learner should have refused."""


def check_learner(learner: Learner, task: Task, *, seed: int = 0) -> None:
    """Check that `learner`, which must be new, obeys the protocol `Learner` on `task`.

    It learns for a few updates, is told of samples that it must refuse, and is taken back to an
    earlier state, from which it must go on as it did before. What it must refuse, by a ValueError
    that names the argument, is what `selfpaced.learners.episodic.checked_samples` refuses.

    >>> import numpy as np
    >>> from selfpaced import CREPS, Box, FunctionTask, Gaussian, Problem
    >>> from selfpaced.testing import check_learner
    >>> boxes = Box([-1], [1]), Box([-2], [2])
    >>> task = FunctionTask(lambda contexts, thetas: -(thetas - contexts)[:, 0] ** 2, *boxes)
    >>> problem = Problem(task, Gaussian([0.9], [[1e-4]]))
    >>> check_learner(CREPS(n_samples=20, buffer_size=2).learner(problem), task)
    """
    require_methods("learner", learner, "ask", "tell", "state", "restore")
    require_methods("task", task, "evaluate")
    loop = _Loop(learner, task, seed)
    loop.check_policy()
    loop.until_update()
    loop.check_refusals()
    loop.until_update()
    loop.check_policy()
    state = loop.saved()
    later = [loop.until_update() for _ in range(3)]
    end = loop.saved()
    loop.restore(state)
    again = [loop.until_update() for _ in range(3)]
    sentence = f"{loop.who} must go on from a restored state as it did before"
    for (one_metrics, *one), (other_metrics, *other) in zip(later, again, strict=True):
        for name, a, b in zip(("contexts", "thetas"), one, other, strict=True):
            require_same(f"{sentence}; it asks for other {name}", a, b)
        require(
            one_metrics == other_metrics,
            f"{sentence}; its metrics were {one_metrics} and are {other_metrics}",
        )
    require_same_states(sentence, end.learner, loop.saved().learner)
    require_same_states(sentence, end.policy, loop.saved().policy)


class _Saved:
    """All that a loop can be taken back to: the learner and both generators."""

    def __init__(self, learner: State, policy: State, learn: Any, world: Any) -> None:
        self.learner, self.policy, self.learn, self.world = learner, policy, learn, world


class _Loop:
    """Ask, evaluate, tell; every call is checked for what must hold of all calls.

    One generator serves all asks, as in a run: `CMAESLearner` relies on it.
    """

    def __init__(self, learner: Learner, task: Task, seed: int) -> None:
        self.learner, self.task, self.who = learner, task, type(learner).__name__
        self._learn, self._world = np.random.default_rng(seed), np.random.default_rng(seed + 1)

    def ask(self) -> tuple[Array, Array]:
        call = f"{self.who}.ask"
        with watched(call):
            asked: Any = self.learner.ask(self._learn)
        require(
            is_pair(asked),
            f"{call} must return the pair (contexts, thetas); got {shortened(asked)}",
        )
        contexts, thetas = asked
        boxes = self.task.context_space, self.task.theta_space
        shape = np.shape(contexts)
        require(
            len(shape) == 2,
            f"contexts of {call} must have the shape (n, {boxes[0].dimension}), "
            f"one row per rollout; got {shape}",
        )
        n = len(contexts)
        require(n >= 1, f"{call} must give at least one rollout to try; got none")
        for name, rows, box in zip(("contexts", "thetas"), (contexts, thetas), boxes, strict=True):
            require_floats(f"{name} of {call}", rows, (n, box.dimension))
            outside = rows[~box.contains(rows)]
            if outside.size:
                raise AssertionError(f"{name} of {call} must lie in {box}; got {outside[0]}")
        return contexts.copy(), thetas.copy()

    def samples(self) -> Samples:
        contexts, thetas = self.ask()
        outcomes = self.task.evaluate(contexts.copy(), thetas.copy(), self._world)
        return Samples(contexts, thetas, outcomes.rewards.copy(), outcomes.successes.copy())

    def tell(self, samples: Samples) -> Metrics:
        call = f"{self.who}.tell"
        names = ("contexts", "thetas", "rewards", "successes")
        given = Samples(**{name: getattr(samples, name).copy() for name in names})
        with watched(call):
            metrics = self.learner.tell(given)
        json_text(f"what {call} returns", metrics)
        for name in names[:3]:  # successes may be nan, which is not equal to itself
            pair = getattr(samples, name), getattr(given, name)
            require_unchanged(call, **{name: pair})
        return metrics

    def until_update(self) -> tuple[str, Array, Array]:
        """Metrics of the next update as text, and all contexts and thetas asked for until then."""
        contexts, thetas = list[Array](), list[Array]()
        for _ in range(PATIENCE):
            samples = self.samples()
            metrics = self.tell(samples)
            contexts.append(samples.contexts)
            thetas.append(samples.thetas)
            if metrics:
                return (
                    json_text("metrics", metrics),
                    np.concatenate(contexts),
                    np.concatenate(thetas),
                )
        raise AssertionError(
            f"{self.who}.tell must return metrics once it has learned; "
            f"it returned none after {PATIENCE} batches"
        )

    def saved(self) -> _Saved:
        state = through_file(f"{self.who}.state()", self.learner.state())
        policy = saved_policy(f"{self.who}.policy", self.learner.policy)
        return _Saved(state, policy, generator_state(self._learn), generator_state(self._world))

    def restore(self, saved: _Saved) -> None:
        with watched(f"{self.who}.restore"):
            self.learner.restore(saved.learner)
        self._learn, self._world = map(restored_generator, (saved.learn, saved.world))
        now = self.saved()
        sentence = f"{self.who} must have the {{}} that it was restored to"
        require_same_states(sentence.format("state"), saved.learner, now.learner)
        require_same_states(sentence.format("policy"), saved.policy, now.policy)

    def check_policy(self) -> None:
        """The policy maps contexts to parameters and can be saved; contexts have a Gaussian."""
        with must_work(f"the property {self.who}.policy"):
            policy: Any = self.learner.policy
        require(
            isinstance(policy, LinearGaussianPolicy),
            f"{self.who}.policy must be a LinearGaussianPolicy; got {policy!r}",
        )
        contexts = self.task.context_space.uniform(5, np.random.default_rng(0))
        means = policy.mean(contexts)
        shape = (5, self.task.theta_space.dimension)
        require_floats(f"the mean of {self.who}.policy", means, shape)
        require_finite(f"the mean of {self.who}.policy", means)
        saved_policy(f"{self.who}.policy", policy)
        with must_work(f"the property {self.who}.context_distribution"):
            found: Any = self.learner.context_distribution
        d = self.task.context_space.dimension
        require(
            found is None or (isinstance(found, Gaussian) and found.dimension == d),
            f"{self.who}.context_distribution must be None or a Gaussian of {d} dimensions; "
            f"got {found!r}",
        )

    def check_refusals(self) -> None:
        """Samples that cannot be right are refused, and change nothing."""
        good = self.samples()
        before = through_file(f"{self.who}.state()", self.learner.state())
        for what, name, samples in _bad_samples(good, self.task.context_space):
            must_refuse(
                f"{self.who}.tell of {what}",
                (name,),
                lambda bad=samples: self.learner.tell(bad),
                HINT,
            )
            require_same_states(
                f"{self.who}.tell must not change the learner if it refuses {what}",
                before,
                through_file(f"{self.who}.state()", self.learner.state()),
            )
        self.tell(good)


def _bad_samples(good: Samples, box: Box) -> list[tuple[str, str, Samples]]:
    """Faults, the argument that each lies in, and `good` samples with that fault."""
    n = len(good)

    def with_first(column: Array, value: float) -> Array:
        edited = np.array(column, dtype=float)
        edited[0] = value
        return edited

    beyond = good.contexts.copy()
    beyond[0] = box.high + box.width
    wide = np.hstack([good.thetas, good.thetas[:, :1]])
    none = Samples(good.contexts[:0], good.thetas[:0], good.rewards[:0], good.successes[:0])
    return [
        (
            "a reward that is nan",
            "rewards",
            replace(good, rewards=with_first(good.rewards, np.nan)),
        ),
        (f"{n + 1} rewards", "rewards", replace(good, rewards=np.zeros(n + 1))),
        ("a context outside of the box", "contexts", replace(good, contexts=beyond)),
        ("a context that is nan", "contexts", replace(good, contexts=with_first(beyond, np.nan))),
        (
            f"{n + 1} thetas",
            "thetas",
            replace(good, thetas=np.vstack([good.thetas, good.thetas[:1]])),
        ),
        ("thetas with a column more", "thetas", replace(good, thetas=wide)),
        (
            "a success of 1.5",
            "successes",
            replace(good, successes=with_first(good.successes, 1.5)),
        ),
        (f"{n + 1} successes", "successes", replace(good, successes=np.ones(n + 1))),
        ("no samples", "samples", none),
    ]
