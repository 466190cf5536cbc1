"""GoalGAN: practise contexts of intermediate difficulty (Florensa et al., 2018; extra `torch`).

A least-squares GAN learns to generate contexts like those that the learner solves sometimes, but
not always. Every random number comes from the generator that is passed in.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from selfpaced.maths.arrays import Array, IntArray, check_at_least, check_positive
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian
from selfpaced.teachers.small_asks import SmallAsks
from selfpaced.types import State

OLD = 0.2  # share of rollouts on contexts solved before
AT_ONCE = 10  # contexts at least; whoever asks for fewer gets some of them now and some later
FRESH = 0.4  # fresh contexts per rollout of the rest; each is executed twice, some four times
EASY, HARD = 0.9, 0.1  # success rates between which a context is of intermediate difficulty
APART = 0.01  # of the box's diagonal, between two remembered contexts
REMEMBERED_ASKS = 10  # whose contexts train the GAN
BATCH = 64
LEARNING_RATE = 1e-3
GENERATOR, DISCRIMINATOR = (256, 256), (128, 128)  # hidden units


@dataclass(frozen=True, kw_only=True)
class GoalGAN:
    """GoalGAN."""

    needs: ClassVar[tuple[str, ...]] = ("torch",)
    noise: float = 0.05  # eps_NOISE: deviation added to generated contexts, in widths of the box
    train_every: int = 5  # Delta_TRAIN: batches between two trainings of the GAN
    steps: int = 250  # of each training; a step is one of the discriminator, one of the generator
    first_steps: int = 1000  # of the training to uniform contexts before the first batch

    def __post_init__(self) -> None:
        check_positive("noise", self.noise)
        check_at_least("train_every", self.train_every, 1)
        check_at_least("steps", self.steps, 1)
        check_at_least("first_steps", self.first_steps, 1)

    def start(self, context_space: Box, target: Gaussian) -> "GoalGANTeacher":
        return GoalGANTeacher(self, context_space)


class GoalGANTeacher:
    """Contexts inside are in [-1, 1]^d; `_unit` and `_box_of` convert."""

    def __init__(self, numbers: GoalGAN, box: Box) -> None:
        self._numbers, self._box = numbers, box
        self._gan: _GAN | None = None  # made with the first batch, from its generator
        self._asked = 0
        self._solved = np.zeros((0, box.dimension))  # remembered
        self._told = np.zeros((0, box.dimension + 2))  # context, success, ask it belongs to
        self._fresh_rows = 0  # how many of the last rows of _told were not looked at yet
        self._asks = SmallAsks(self._batch, AT_ONCE, box.dimension)

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        return self._asks.ask(n, rng)

    def _batch(self, n: int, rng: np.random.Generator) -> Array:
        gan = self._gan
        if gan is None:
            gan = self._gan = _GAN(self._box.dimension, rng)
            uniform = rng.uniform(-1, 1, size=(self._numbers.first_steps * BATCH, gan.dimension))
            gan.train(uniform, np.ones(len(uniform)), self._numbers.first_steps, rng)
        told = _grouped(self._told)
        self._remember_solved(told)
        if self._asked and self._asked % self._numbers.train_every == 0:
            contexts, labels = _labelled(told)
            if labels.any():
                gan.train(contexts, labels, self._numbers.steps, rng)
        self._asked += 1
        old = round(OLD * n)
        return self._box_of(np.concatenate([self._old(old, rng), self._fresh(n - old, gan, rng)]))

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        if np.isnan(successes).any():
            raise ValueError(
                "successes must be given for GoalGAN: it needs to know what was solved"
            )
        asked = np.full((len(contexts), 1), float(self._asked))
        rows = np.concatenate([self._unit(contexts), successes[:, None], asked], axis=1)
        recent = self._told[self._told[:, -1] > self._asked - REMEMBERED_ASKS]
        self._told = np.concatenate([recent, rows])
        self._fresh_rows += len(rows)

    def _old(self, n: int, rng: np.random.Generator) -> Array:
        """n contexts near remembered ones; uniform where there are too few of them."""
        count = min(n, len(self._solved))
        chosen = self._solved[rng.choice(len(self._solved), size=count, replace=False)]
        uniform = rng.uniform(-1, 1, size=(n - count, self._box.dimension))
        return np.concatenate([self._noisy(chosen, rng), uniform])

    def _fresh(self, n: int, gan: "_GAN", rng: np.random.Generator) -> Array:
        """n rows of generated contexts, each at least twice where n allows."""
        if n == 0:
            return np.zeros((0, self._box.dimension))
        count = max(1, int(FRESH * n))
        contexts = self._noisy(gan.generate(count, rng), rng)
        twice = np.repeat(contexts, 2, axis=0)[:n]
        again = np.repeat(contexts[rng.permutation(count)], 2, axis=0)
        return np.concatenate([twice, np.resize(again, (n - len(twice), self._box.dimension))])

    def _noisy(self, contexts: Array, rng: np.random.Generator) -> Array:
        noise = 2 * self._numbers.noise * rng.standard_normal(contexts.shape)  # the box is 2 wide
        return np.clip(contexts + noise, -1, 1)

    def _remember_solved(self, told: "_Told") -> None:
        """Remember contexts that were solved every time and lie apart from those remembered."""
        # Only those told of since: what was solved before is known. Episodes that end one by one
        # may bring the second execution of a context long after the first.
        new = told.newest >= len(self._told) - self._fresh_rows
        self._fresh_rows = 0
        solved = told.contexts[new & (told.rates == 1.0) & (told.counts >= 2)]
        apart = APART * 2 * np.sqrt(self._box.dimension)
        solved = solved[(cdist(solved, self._solved) > apart).all(axis=1)]
        close, kept = cdist(solved, solved) <= apart, list[int]()
        for i in range(len(solved)):
            if not close[i, kept].any():
                kept.append(i)
        self._solved = np.concatenate([self._solved, solved[kept]])

    def _unit(self, contexts: Array) -> Array:
        return 2 * (contexts - self._box.low) / self._box.width - 1

    def _box_of(self, unit: Array) -> Array:
        contexts = self._box.low + (unit + 1) / 2 * self._box.width
        return np.clip(contexts, self._box.low, self._box.high)

    def state(self) -> State:
        return {
            "asked": np.array(self._asked),
            "solved": self._solved,
            "told": self._told,
            "fresh_rows": np.array(self._fresh_rows),
            "left": self._asks.left,
            **({} if self._gan is None else self._gan.state()),
        }

    def restore(self, state: State) -> None:
        self._asked, self._fresh_rows = int(state["asked"]), int(state["fresh_rows"])
        self._solved, self._told = np.array(state["solved"]), np.array(state["told"])
        self._asks.left = np.array(state["left"])
        self._gan = None
        if "gan.0" in state:
            self._gan = _GAN(self._box.dimension, np.random.default_rng(0))
            self._gan.restore(state)


class _Told(NamedTuple):
    """Equal contexts as one."""

    contexts: Array  # (k, d)
    rates: Array  # (k,): of success
    counts: IntArray  # (k,): how often each was tried
    newest: IntArray  # (k,): the last row it is in


def _grouped(rows: Array) -> _Told:
    """Of rows (n, d + 2): context, success, ask."""
    if len(rows) == 0:
        none = np.zeros(0, dtype=np.int64)
        return _Told(rows[:, :-2], np.zeros(0), none, none)
    order = np.lexsort(rows[:, -3::-1].T)  # by the first dimension first, equal ones as they came
    contexts = rows[order, :-2]
    starts = np.flatnonzero(np.r_[True, (contexts[1:] != contexts[:-1]).any(axis=1)])
    ends = np.r_[starts[1:], len(rows)]
    counts = ends - starts
    rates = np.add.reduceat(rows[order, -2], starts) / counts
    return _Told(contexts[starts], rates, counts, order[ends - 1])


def _labelled(told: _Told) -> tuple[Array, Array]:
    """Contexts executed at least twice; 1 for those of intermediate difficulty."""
    often = told.counts >= 2
    labels = (told.rates > HARD) & (told.rates < EASY)
    return told.contexts[often], labels[often].astype(float)


class _Network(NamedTuple):
    """All weights in one tensor, for the optimiser takes a dozen calls for each that it has."""

    weights: Any
    shapes: list[tuple[int, int]]  # of the layers, each a matrix and a row


class _GAN:
    """The least-squares GAN: both networks, and the running squares of their RMSProp."""

    def __init__(self, dimension: int, rng: np.random.Generator) -> None:
        import torch  # takes seconds to load, and only this class needs it

        self.dimension = dimension
        self._torch: Any = torch
        self._generator = self._network((dimension, *GENERATOR, dimension), rng)
        self._discriminator = self._network((dimension, *DISCRIMINATOR, 1), rng)
        self._optimisers = [
            torch.optim.RMSprop([network.weights], lr=LEARNING_RATE)
            for network in (self._generator, self._discriminator)
        ]

    def generate(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d) contexts in [-1, 1]^d."""
        with _one_thread(self._torch), self._torch.no_grad():
            return self._generated(self._noise(n, rng)).numpy().astype(float)

    def train(self, contexts: Array, labels: Array, steps: int, rng: np.random.Generator) -> None:
        """`steps` steps of each network on rows of `contexts` (n, d) labelled 1 or 0.

        The discriminator learns 1 for contexts labelled 1, and -1 for the others and for what is
        generated; the generator learns to be taken for 1.
        """
        rows = rng.integers(len(contexts), size=(steps, BATCH))
        noise = self._noise(2 * steps * BATCH, rng).reshape(steps, 2, BATCH, self.dimension)
        data, wanted = self._tensor(contexts), self._tensor(2 * labels - 1)
        minus_one = -self._torch.ones(BATCH)
        for_generator, for_discriminator = self._optimisers
        with _one_thread(self._torch):
            for step in range(steps):
                chosen = self._torch.from_numpy(rows[step])
                with self._torch.no_grad():
                    generated = self._generated(noise[step, 0])
                both = self._torch.cat([data[chosen], generated])
                miss = self._judged(both) - self._torch.cat([wanted[chosen], minus_one])
                self._descend(for_discriminator, 2 * (miss**2).mean())
                miss = self._judged(self._generated(noise[step, 1])) - 1
                self._descend(for_generator, (miss**2).mean())

    def _descend(self, optimiser: Any, loss: Any) -> None:
        optimiser.zero_grad()
        loss.backward(inputs=optimiser.param_groups[0]["params"])
        optimiser.step()

    def _generated(self, noise: Any) -> Any:
        return self._torch.tanh(self._forward(self._generator, noise, self._torch.relu))

    def _judged(self, contexts: Any) -> Any:
        leaky = self._torch.nn.functional.leaky_relu
        return self._forward(self._discriminator, contexts, leaky)[:, 0]

    def _forward(self, network: _Network, x: Any, activation: Any) -> Any:
        parts = network.weights.split([inputs * outputs for inputs, outputs in network.shapes])
        layers = [part.view(shape) for part, shape in zip(parts, network.shapes, strict=True)]
        for i in range(0, len(layers), 2):
            x = self._torch.addmm(layers[i + 1], x, layers[i])
            if i + 2 < len(layers):
                x = activation(x)
        return x

    def _network(self, sizes: tuple[int, ...], rng: np.random.Generator) -> _Network:
        """Weights and biases layer by layer, uniform within 1 / sqrt(inputs)."""
        shapes, weights = list[tuple[int, int]](), list[Array]()
        for inputs, outputs in pairwise(sizes):
            bound = 1 / np.sqrt(inputs)
            for shape in ((inputs, outputs), (1, outputs)):
                shapes.append(shape)
                weights.append(rng.uniform(-bound, bound, shape).ravel())
        return _Network(self._tensor(np.concatenate(weights)).requires_grad_(), shapes)

    def _noise(self, n: int, rng: np.random.Generator) -> Any:
        return self._tensor(rng.standard_normal((n, self.dimension)))

    def _tensor(self, array: Array) -> Any:
        return self._torch.tensor(array, dtype=self._torch.float32)

    def _tensors(self) -> list[Any]:
        """Everything that training changes, in a fixed order."""
        found = [net.weights.detach() for net in (self._generator, self._discriminator)]
        for optimiser in self._optimisers:
            for parameter in optimiser.param_groups[0]["params"]:
                known = optimiser.state[parameter]
                found += [known["square_avg"], known["step"]]
        return found

    def state(self) -> State:
        return {f"gan.{i}": tensor.numpy().copy() for i, tensor in enumerate(self._tensors())}

    def restore(self, state: State) -> None:
        for optimiser in self._optimisers:
            for parameter in optimiser.param_groups[0]["params"]:
                optimiser.state[parameter] = {
                    "step": self._torch.tensor(0.0),
                    "square_avg": self._torch.zeros_like(parameter),
                }
        for i, tensor in enumerate(self._tensors()):
            tensor.copy_(self._torch.from_numpy(np.array(state[f"gan.{i}"])))


@contextmanager
def _one_thread(torch: Any) -> Generator[None, None, None]:
    """Torch on one thread, whatever the program around us uses: results must not depend on it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
