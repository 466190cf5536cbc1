"""The widest contexts on which enough episodes still succeed (DORAEMON; Tiboni et al., 2024).

DORAEMON stands for domain randomisation via entropy maximisation. It needs no target.
"""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import check_at_least, check_positive, check_share, check_vector
from selfpaced.maths.beta import IndependentBeta, beta_around
from selfpaced.maths.box import Box
from selfpaced.maths.context_step import TriedContexts
from selfpaced.maths.entropy_step import step_to_entropy
from selfpaced.spaces.columns import ColumnSpace
from selfpaced.targets.target import Target
from selfpaced.teachers.density_teacher import DensityTeacher
from selfpaced.teachers.feasible_teacher import feasible_only, ordered_space
from selfpaced.types import State


@dataclass(frozen=True, kw_only=True)
class DORAEMON:
    """Widens contexts as far as a share of the episodes succeeds. It needs successes and no target.

    Contexts are drawn from independent Beta distributions over the context space, which are narrow
    at first. Every update makes their entropy as large as a bound on the success rate and a bound
    on the KL divergence allow.

    >>> import numpy as np
    >>> from selfpaced import DORAEMON, Box, Gaussian
    >>> teacher = DORAEMON().start(Box([0], [1]), Gaussian([0.9], [[1e-4]]))
    >>> contexts = teacher.ask(100, np.random.default_rng(0))
    >>> teacher.tell(contexts, rewards=np.zeros(100), successes=np.ones(100))
    >>> teacher
    DORAEMONTeacher(contexts around [0.5], standard deviations [0.047], entropy -1.64 nats)
    """

    least_success: float = 0.5
    """G: the least expected success rate on the contexts, from 0 to 1."""
    epsilon: float = 0.1
    """Largest KL divergence of the new contexts from the old ones in an update, in nats."""
    update_every: int = 100
    """Number of episodes after which the contexts are updated; an update uses only these."""
    nominal: tuple[float, ...] | None = None
    """The context around which learning begins; None: the middle of the context space."""
    concentration: float = 100.0
    """Half of a + b of the first Beta distributions, at least 1, where contexts are uniform.

    Around the middle of a width, 100 stands for a standard deviation of 3.5% of it.
    """

    def __post_init__(self) -> None:
        check_share("least_success", self.least_success, "success in every episode")
        check_positive("epsilon", self.epsilon)
        check_at_least("update_every", self.update_every, 2)
        if check_positive("concentration", self.concentration) < 1.0:
            raise ValueError(f"concentration must be at least 1; got {self.concentration}")
        if self.nominal is not None:
            nominal = check_vector("nominal", self.nominal)
            object.__setattr__(self, "nominal", tuple(nominal.tolist()))

    def start(self, context_space: Box, target: Target) -> "DORAEMONTeacher":
        """A new teacher for contexts in `context_space`; it does not look at `target`."""
        space = ordered_space(context_space, "DORAEMON")
        return feasible_only(DORAEMONTeacher(self, space), space)


class DORAEMONTeacher(DensityTeacher):
    """DORAEMON between two updates: Beta distributions, and the episodes since the last update."""

    _own_state = ("reached",)
    _distribution_names = _distribution_rows = ("exponents",)

    contexts: IndependentBeta
    """What the next contexts are drawn from."""

    def __init__(self, config: DORAEMON, box: Box) -> None:
        self._config = config
        nominal = box.centre
        if config.nominal is not None:
            nominal = box.check("nominal", [config.nominal])[0]
        # A whole number stands for the interval that is rounded to it, so that all are as likely.
        bounds = Box(*box.margins) if isinstance(box, ColumnSpace) else box
        contexts = beta_around(bounds, nominal, config.concentration)
        super().__init__(box, contexts, config.update_every, "success")
        self._reached = False  # True once the success rate has reached its bound

    def __repr__(self) -> str:
        mean, deviation = (
            x.round(3).tolist() for x in (self.contexts.mean, self.contexts.deviation)
        )
        return (
            f"DORAEMONTeacher(contexts around {mean}, standard deviations {deviation}, entropy "
            f"{self.contexts.entropy:.3g} nats)"
        )

    def _update(self, tried: TriedContexts) -> None:
        # Until the first contexts are mastered, nothing is known that could be maximised.
        self._reached = self._reached or tried.value >= self._config.least_success
        if self._reached:
            step = step_to_entropy(
                self.contexts, tried, self._config.least_success, self._config.epsilon
            )
            self.contexts = step.contexts
            self._failed_steps += step.failed

    def _distribution_state(self) -> State:
        return {"exponents": np.stack([self.contexts.a, self.contexts.b])}

    def _restore_distribution(self, state: State) -> None:
        self.contexts = IndependentBeta(self.contexts.box, *np.array(state["exponents"]))

    def state(self) -> State:
        """Everything that later contexts depend on, as plain arrays."""
        return {**super().state(), "reached": np.array(self._reached)}

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        super().restore(state)
        self._reached = bool(state["reached"])
