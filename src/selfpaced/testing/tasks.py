"""`check_task`: what every task promises."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from selfpaced.maths.arrays import Array, check_at_least
from selfpaced.maths.box import Box
from selfpaced.testing.assertions import (
    must_raise,
    must_refuse,
    must_work,
    require,
    require_finite,
    require_methods,
    require_outcomes,
    require_trajectories,
    require_unchanged,
)
from selfpaced.testing.exact_state import json_text, require_same, same_bits
from selfpaced.testing.global_random_state import watched
from selfpaced.types import DiagnosticTask, Outcomes, StepTask, Task, TrajectoryTask

ROUNDING = 1e-6
"""Relative difference between rewards that batches of another size may bring, by rounding."""
HINT = "selfpaced.tasks.batch.checked_batch, called first, refuses batches of wrong shapes"
"""What to do about batches that a task should have refused."""


def check_task(
    task: Task,
    *,
    rng: np.random.Generator | None = None,
    n: int = 12,
    action_dimension: int | None = None,
    strict: bool = False,
) -> None:
    """Check that `task` obeys the protocol `Task`, and the optional ones that it has methods for.

    Contexts and parameters of `n` rollouts are drawn from `rng`, uniformly over the task's boxes.
    `action_dimension` is how many numbers an action of a task with `simulate_policy` has; it must
    be given if the task has no attribute of that name.

    A batch with too many columns, or with rows that do not match, must raise an exception of any
    kind. One row in place of `n` may be repeated, as NumPy does, and an empty batch may be scored
    or refused. With `strict=True`, which this library's own tasks pass, one row in place of `n`
    must be refused as well, and whatever is refused must raise a ValueError, which names the
    argument if a shape is wrong.

    >>> import numpy as np
    >>> from selfpaced import Box, FunctionTask
    >>> from selfpaced.testing import check_task
    >>> boxes = Box([-1], [1]), Box([-2], [2])
    >>> check_task(FunctionTask(lambda contexts, thetas: -(thetas - contexts)[:, 0] ** 2, *boxes))
    >>> check_task(FunctionTask(lambda contexts, thetas: thetas[:, 0] - thetas.mean(), *boxes))
    Traceback (most recent call last):
    AssertionError: FunctionTask.evaluate must score every row by itself; ...
    """
    rng = np.random.default_rng(0) if rng is None else rng
    check_at_least("n", n, 2)  # rows must have neighbours
    require_methods("task", task, "evaluate")
    probe = _Probe(task, rng, n, strict)
    probe.check_spaces()
    probe.check_rows()
    probe.check_sizes()
    probe.check_wrong_shapes()
    probe.check_extras()
    if isinstance(task, StepTask):
        if action_dimension is None:
            action_dimension = getattr(task, "action_dimension", None)
        if action_dimension is None:
            raise ValueError(
                "action_dimension must be given, because the task has simulate_policy and no "
                "attribute action_dimension; got None"
            )
        _check_step_task(task, probe, check_at_least("action_dimension", action_dimension, 1))


class _Probe:
    """A task with batches to try; every call is checked for what must hold of all calls."""

    def __init__(self, task: Task, rng: np.random.Generator, n: int, strict: bool) -> None:
        self.task, self.n, self.who, self.strict = task, n, type(task).__name__, strict
        for name in ("context_space", "theta_space"):
            space = getattr(task, name, None)
            require(isinstance(space, Box), f"{self.who}.{name} must be a Box; got {space!r}")
        self.contexts = task.context_space.uniform(n, rng)
        self.thetas = task.theta_space.uniform(n, rng)
        # Every second row is kept, among other neighbours.
        self.kept = np.arange(0, n, 2)
        self.mixed_contexts = task.context_space.uniform(n, rng)
        self.mixed_thetas = task.theta_space.uniform(n, rng)
        self.mixed_contexts[self.kept] = self.contexts[self.kept]
        self.mixed_thetas[self.kept] = self.thetas[self.kept]
        self.seed, self.other_seed = (int(seed) for seed in rng.integers(2**63, size=2))

    def call(self, name: str, contexts: Array, thetas: Array, seed: int) -> Any:
        """What the task's method `name` returns; it must neither edit nor draw from elsewhere."""
        call, given = f"{self.who}.{name}", (contexts.copy(), thetas.copy())
        with watched(f"{call} of {len(contexts)} rows"):
            result = getattr(self.task, name)(*given, np.random.default_rng(seed))
        require_unchanged(call, contexts=(contexts, given[0]), thetas=(thetas, given[1]))
        return result

    def evaluate(self, contexts: Array, thetas: Array, seed: int) -> Outcomes:
        """Outcomes of the rows, as copies: a task may use its arrays again."""
        outcomes = self.call("evaluate", contexts, thetas, seed)
        require_outcomes(f"{self.who}.evaluate", outcomes, len(contexts))
        return Outcomes(outcomes.rewards.copy(), outcomes.successes.copy())

    def trajectories(self, contexts: Array, thetas: Array, seed: int) -> Array:
        """Trajectories of the rows, as a copy."""
        paths = self.call("trajectories", contexts, thetas, seed)
        require_trajectories(f"{self.who}.trajectories", paths, len(contexts))
        return paths.copy()

    def take_note_of_noise(self, one: Array, other: Array) -> None:
        """Compare results of two seeds; where they differ, only the first row can be kept.

        How much noise a row draws may depend on the rows before it, and the first has none.
        """
        if not same_bits(one, other):
            self.kept = self.kept[:1]

    def require_same_paths(self, name: str, one: Array, other: Array) -> None:
        """Require that the rows that were kept went the same way among other rows.

        Other rows may have made all trajectories longer, or shorter.
        """
        steps = min(one.shape[1], other.shape[1])
        require_same(
            f"{self.who}.{name} must simulate every row by itself; "
            f"among other rows the trajectories of rows {self.kept.tolist()} changed",
            one[self.kept, :steps],
            other[self.kept, :steps],
        )

    def check_spaces(self) -> None:
        d = self.task.context_space.dimension
        names: Any = getattr(self.task, "context_names", None)
        if names is not None:
            good = len(names) == d and all(isinstance(name, str) for name in names)
            require(good, f"{self.who}.context_names must be {d} strings; got {names!r}")

    def check_rows(self) -> None:
        """The same generator gives the same outcomes, and rows do not depend on each other."""
        first = self.evaluate(self.contexts, self.thetas, self.seed)
        mixed = self.evaluate(self.mixed_contexts, self.mixed_thetas, self.seed)
        again = self.evaluate(self.contexts, self.thetas, self.seed)
        for name, one, other in zip(Outcomes._fields, first, again, strict=True):
            require_same(
                f"{self.who}.evaluate must give the same {name} for the same generator, "
                "whatever was evaluated before: noise must come from rng alone, and no episode may "
                "depend on what an earlier one left behind",
                one,
                other,
            )
        other_noise = self.evaluate(self.contexts, self.thetas, self.other_seed)
        self.take_note_of_noise(np.array(first), np.array(other_noise))
        for name, one, other in zip(Outcomes._fields, first, mixed, strict=True):
            changed = [int(i) for i in self.kept if not same_bits(one[i], other[i])]
            if changed:
                i = changed[0]
                raise AssertionError(
                    f"{self.who}.evaluate must score every row by itself; among other rows, "
                    f"the {name} of row {i} went from {one[i]} to {other[i]}"
                )
        alone = self.evaluate(self.contexts[:1], self.thetas[:1], self.seed)
        if same_bits(first.rewards, other_noise.rewards):
            one, other = first.rewards[0], alone.rewards[0]
            require(
                abs(one - other) <= ROUNDING * max(abs(one), abs(other)),
                f"{self.who}.evaluate must score every row by itself; the reward of row 0 went "
                f"from {one} in a batch of {self.n} rows to {other} alone",
            )

    def check_sizes(self) -> None:
        """No rows at all are scored, or refused; if `strict`, by a ValueError."""
        try:
            outcomes = self.task.evaluate(
                self.contexts[:0], self.thetas[:0], np.random.default_rng(self.seed)
            )
        except ValueError:
            return
        except Exception as error:  # the error of the code under test, quoted in the sentence
            if not self.strict:
                return
            raise AssertionError(
                f"{self.who}.evaluate must score an empty batch, or refuse it with a ValueError; "
                f"it raised {error!r}"
            ) from error
        require_outcomes(f"{self.who}.evaluate of no rows", outcomes, 0)

    def check_wrong_shapes(self) -> None:
        contexts, thetas = self.contexts, self.thetas
        wide = [np.hstack([rows, rows[:, :1]]) for rows in (contexts, thetas)]
        longer, both = np.vstack([thetas, thetas[:1]]), ("thetas", "contexts")
        cases: list[tuple[str, tuple[str, ...], Array, Array]] = [
            (f"contexts of shape {wide[0].shape}", ("contexts",), wide[0], thetas),
            (f"thetas of shape {wide[1].shape}", ("thetas",), contexts, wide[1]),
            (f"{self.n} contexts and {len(longer)} thetas", both, contexts, longer),
        ]
        if self.strict:
            cases += [
                (f"contexts of shape {contexts[0].shape}", ("contexts",), contexts[0], thetas),
                (f"thetas of shape {thetas[0].shape}", ("thetas",), contexts, thetas[0]),
                (f"{self.n} contexts and 1 theta", both, contexts, thetas[:1]),
            ]
        for what, names, bad_contexts, bad_thetas in cases:
            rng = np.random.default_rng(self.seed)
            evaluate = partial(self.task.evaluate, bad_contexts, bad_thetas, rng)
            self.require_refusal(f"{self.who}.evaluate of {what}", names, evaluate, HINT)

    def require_refusal(
        self, call: str, names: tuple[str, ...], function: Callable[[], object], hint: str
    ) -> None:
        """Require any exception of `function`; if `strict`, a ValueError with one of `names`."""
        if self.strict:
            must_refuse(call, names, function, hint)
        else:
            must_raise(call, function, hint)

    def check_extras(self) -> None:
        """Trajectories, drawings and diagnostics, as far as the task has them."""
        paths = np.zeros((0, 2, 2))
        if isinstance(self.task, TrajectoryTask):
            paths = self.trajectories(self.contexts, self.thetas, self.seed)
            other_noise = self.trajectories(self.contexts, self.thetas, self.other_seed)
            self.take_note_of_noise(paths, other_noise)
            among = self.trajectories(self.mixed_contexts, self.mixed_thetas, self.seed)
            self.require_same_paths("trajectories", paths, among)
        if callable(getattr(self.task, "draw", None)):
            self._check_drawing(paths)
        if isinstance(self.task, DiagnosticTask):
            what = f"what {self.who}.diagnostics returns"
            json_text(what, self.task.diagnostics())
            for value in self.task.diagnostics().values():
                require_finite(what, np.asarray(value, dtype=float))

    def _check_drawing(self, paths: Array) -> None:
        """Scenes are drawn with trajectories and, as the report does, with none."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        task: Any = self.task
        for shown in (paths, paths[:0]):
            figure = Figure()
            axes = figure.add_subplot()
            with must_work(f"{self.who}.draw of {len(shown)} trajectories"):
                task.draw(self.contexts[0].copy(), shown.copy(), axes)
                FigureCanvasAgg(figure).draw()
        require(
            axes.has_data(), f"{self.who}.draw must draw the scene on the axes; it drew nothing"
        )


def _check_step_task(task: StepTask, probe: _Probe, action_dimension: int) -> None:
    """Step by step, rows keep to themselves just as well."""
    call = f"{probe.who}.simulate_policy"
    policy = _StepPolicy(call, action_dimension)

    def simulate(contexts: Array) -> tuple[Outcomes, Array]:
        given = contexts.copy()
        with watched(f"{call} of {len(contexts)} contexts"):
            rng = np.random.default_rng(probe.seed)
            outcomes, paths = task.simulate_policy(given, policy.acting_on(len(contexts)), rng)
        require_unchanged(call, contexts=(contexts, given))
        require_outcomes(call, outcomes, len(contexts))
        require_trajectories(f"trajectories of {call}", paths, len(contexts))
        return outcomes, paths

    simulate(probe.contexts[:1])
    first, paths = simulate(probe.contexts)
    mixed, other_paths = simulate(probe.mixed_contexts)
    probe.require_same_paths("simulate_policy", paths, other_paths)
    for name, one, other in zip(Outcomes._fields, first, mixed, strict=True):
        require_same(
            f"{call} must simulate every row by itself; among other rows the {name} changed",
            one[probe.kept],
            other[probe.kept],
        )
    wide = np.hstack([probe.contexts, probe.contexts[:, :1]])
    probe.require_refusal(
        f"{call} of contexts of shape {wide.shape}",
        ("contexts",),
        lambda: task.simulate_policy(
            wide, policy.acting_on(probe.n), np.random.default_rng(probe.seed)
        ),
        "compare the number of columns with the dimension of context_space",
    )


class _StepPolicy:
    """Actions that are a fixed function of each observation; it checks what it is shown."""

    def __init__(self, call: str, action_dimension: int) -> None:
        self._call, self._outputs = call, action_dimension
        self._inputs: int | None = None  # how long observations are

    def acting_on(self, n: int) -> Callable[[Array], Array]:
        def act(observations: Array) -> Array:
            shape = observations.shape
            inputs = self._inputs if self._inputs is not None else shape[-1]
            require(
                len(shape) == 2 and shape[0] <= n and shape[1] == inputs,
                f"{self._call} must show observations (k, {inputs}) of at most {n} rows; "
                f"got {shape}",
            )
            require_finite(f"observations of {self._call}", observations)
            self._inputs = inputs
            gains = np.cos(np.arange(inputs * self._outputs)).reshape(inputs, self._outputs)
            # Not a matrix product, whose rounding depends on the number of rows.
            return np.tanh((observations[:, :, None] * gains).sum(axis=1))

        return act
