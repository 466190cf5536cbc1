"""Contexts of intermediate difficulty (GoalGAN; Florensa et al., 2018; extra `torch`).

A least-squares GAN learns to generate contexts like those that the learner solves sometimes, but
not always. Every random number comes from the generator that is passed in.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy

from selfpaced.maths.arrays import Array, check_at_least, check_positive
from selfpaced.maths.box import Box
from selfpaced.targets.target import Target
from selfpaced.teachers.difficulty_labels import GroupedEpisodes, grouped, labelled
from selfpaced.teachers.episodes import episode_values
from selfpaced.teachers.feasible_teacher import feasible_only, ordered_space
from selfpaced.teachers.request_batching import RequestBatcher
from selfpaced.teachers.started_teacher import StartedTeacher
from selfpaced.teachers.torch_threads import one_torch_thread
from selfpaced.types import State, part_of, prefixed

OLD = 0.2  # share of a batch on contexts that were solved before
AT_ONCE = 10  # smaller requests are served from a batch of this size, so that no share rounds to 0
FRESH = 0.4  # fresh contexts per remaining row of a batch; each is tried twice, some four times
APART = 0.01  # least distance of two remembered contexts, as a share of the box's diagonal
REMEMBERED_ASKS = 10  # last batches whose contexts train the GAN
BATCH = 64  # rows of one training step
LEARNING_RATE = 1e-3
REMEMBERED_SQUARES, TINY = 0.99, 1e-8  # RMSProp: share of the mean that stays; least divisor
GENERATOR, DISCRIMINATOR = (256, 256), (128, 128)  # hidden units


@dataclass(frozen=True, kw_only=True)
class GoalGAN:
    """Generates contexts that are solved sometimes. It needs successes and no target.

    >>> import numpy as np
    >>> from selfpaced import Box, Gaussian, GoalGAN
    >>> teacher = GoalGAN(first_steps=10).start(Box([0], [1]), Gaussian([0.9], [[1e-4]]))
    >>> contexts = teacher.ask(50, np.random.default_rng(0))
    >>> teacher.tell(contexts, rewards=np.zeros(50), successes=(contexts[:, 0] < 0.5) * 1.0)
    >>> teacher
    GoalGANTeacher(contexts over the whole space, 0 solved contexts and 50 episodes remembered)
    """

    needs: ClassVar[tuple[str, ...]] = ("torch",)
    """Packages that must be installed for it, besides those of the core."""
    noise: float = 0.05
    """eps_NOISE: standard deviation added to contexts, as a share of the context space's width."""
    train_every: int = 5
    """Delta_TRAIN: batches of contexts between two trainings of the GAN."""
    steps: int = 250
    """Steps of one training; each is a step of the discriminator and one of the generator."""
    first_steps: int = 1000
    """Training steps before the first batch, so that its contexts cover the whole space."""

    def __post_init__(self) -> None:
        check_positive("noise", self.noise)
        check_at_least("train_every", self.train_every, 1)
        check_at_least("steps", self.steps, 1)
        check_at_least("first_steps", self.first_steps, 1)

    def start(self, context_space: Box, target: Target) -> "GoalGANTeacher":
        """A new teacher for contexts in `context_space`; it does not look at `target`."""
        space = ordered_space(context_space, "GoalGAN")
        return feasible_only(GoalGANTeacher(self, space), space)


class GoalGANTeacher(StartedTeacher):
    """GoalGAN between two batches: the GAN, remembered solved contexts, and recent episodes.

    Inside, contexts are in [-1, 1]^d; `_unit` and `_box_of` convert.
    """

    _judged_by = "success"

    def __init__(self, config: GoalGAN, box: Box) -> None:
        self._config, self._box = config, box
        self._gan: _GAN | None = None  # made with the first batch, from its generator
        self._asked = 0  # batches drawn
        self._solved = np.zeros((0, box.dimension))  # contexts that were solved every time
        self._told = np.zeros((0, box.dimension + 2))  # context, success, number of the last batch
        self._fresh_rows = 0  # how many of the last rows of _told came since the last batch
        self._requests = RequestBatcher(self._batch, AT_ONCE, box.dimension)

    def __repr__(self) -> str:
        where = "contexts over the whole space"
        contexts, labels = labelled(grouped(self._told))
        if labels.any():
            mean = self._box_of(contexts[labels > 0].mean(axis=0)).round(4).tolist()
            where = f"intermediate difficulty around {mean}"
        return (
            f"GoalGANTeacher({where}, {len(self._solved)} solved contexts and "
            f"{len(self._told)} episodes remembered)"
        )

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        """n contexts (n, d): a fifth near solved ones, the others generated, each repeatedly."""
        return self._box.snapped(self._requests.ask(n, rng))

    def _batch(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d): contexts near solved ones, then generated ones. Trains the GAN when it is due."""
        gan = self._gan
        if gan is None:
            gan = self._gan = _GAN(self._box.dimension, rng)
            uniform = rng.uniform(-1, 1, size=(self._config.first_steps * BATCH, gan.dimension))
            gan.train(uniform, np.ones(len(uniform)), self._config.first_steps, rng)
        told = grouped(self._told)
        self._remember_solved(told)
        if self._asked and self._asked % self._config.train_every == 0:
            contexts, labels = labelled(told)
            if labels.any():
                gan.train(contexts, labels, self._config.steps, rng)
        self._asked += 1
        old = round(OLD * n)
        return self._box_of(np.concatenate([self._old(old, rng), self._fresh(n - old, gan, rng)]))

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Take note of finished episodes; those of the last ten batches are kept."""
        successes = episode_values("success", rewards, successes, "GoalGAN")
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
        """n rows of generated contexts; each occurs at least twice if n is large enough."""
        if n == 0:
            return np.zeros((0, self._box.dimension))
        count = max(1, int(FRESH * n))
        contexts = self._noisy(gan.generate(count, rng), rng)
        twice = np.repeat(contexts, 2, axis=0)[:n]
        again = np.repeat(contexts[rng.permutation(count)], 2, axis=0)
        return np.concatenate([twice, np.resize(again, (n - len(twice), self._box.dimension))])

    def _noisy(self, contexts: Array, rng: np.random.Generator) -> Array:
        noise = 2 * self._config.noise * rng.standard_normal(contexts.shape)  # [-1, 1] is 2 wide
        return np.clip(contexts + noise, -1, 1)

    def _remember_solved(self, told: GroupedEpisodes) -> None:
        """Remember contexts that were solved every time and lie apart from those remembered."""
        # Only contexts with an episode since the last batch can be new here. Their earlier episodes
        # count too: a context's second episode may end long after its first.
        new = told.newest >= len(self._told) - self._fresh_rows
        self._fresh_rows = 0
        solved = told.contexts[new & (told.rates == 1.0) & (told.counts >= 2)]
        apart = APART * 2 * np.sqrt(self._box.dimension)
        solved = solved[(scipy.spatial.distance.cdist(solved, self._solved) > apart).all(axis=1)]
        close, kept = scipy.spatial.distance.cdist(solved, solved) <= apart, list[int]()
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
        """Everything that later contexts depend on, as plain arrays."""
        return {
            "asked": np.array(self._asked),
            "solved": self._solved,
            "told": self._told,
            "fresh_rows": np.array(self._fresh_rows),
            "left": self._requests.left,
            **({} if self._gan is None else prefixed("gan.", self._gan.state())),
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        names = ("asked", "solved", "told", "fresh_rows", "left")
        self._check_state(state, names, rows=("solved",))
        self._asked, self._fresh_rows = int(state["asked"]), int(state["fresh_rows"])
        self._solved, self._told = np.array(state["solved"]), np.array(state["told"])
        self._requests.left = np.array(state["left"])
        self._gan = None
        if networks := part_of(state, "gan."):
            self._gan = _GAN(self._box.dimension, np.random.default_rng(0))
            self._gan.restore(networks)


class _Network(NamedTuple):
    """A network with all weights in one tensor, so that a step of RMSProp is a few calls."""

    weights: Any
    shapes: list[tuple[int, int]]  # of the layers' parameters: matrix, bias, matrix, bias, ...
    squares: Any  # running mean of the squared gradients
    steps: Any  # training steps so far


class _GAN:
    """The least-squares GAN: generator and discriminator, which learn by RMSProp."""

    def __init__(self, dimension: int, rng: np.random.Generator) -> None:
        import torch  # takes seconds to load

        self.dimension = dimension
        self._torch: Any = torch
        self._generator = self._network((dimension, *GENERATOR, dimension), rng)
        self._discriminator = self._network((dimension, *DISCRIMINATOR, 1), rng)

    def generate(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d): generated contexts in [-1, 1]^d."""
        with one_torch_thread(self._torch), self._torch.no_grad():
            return self._generated(self._noise(n, rng)).numpy().astype(float)

    def train(self, contexts: Array, labels: Array, steps: int, rng: np.random.Generator) -> None:
        """`steps` steps of each network on rows of `contexts` (n, d) labelled 1 or 0.

        The discriminator learns to score contexts labelled 1 with 1, and all others and generated
        ones with -1; the generator learns to generate contexts that are scored with 1.
        """
        rows = rng.integers(len(contexts), size=(steps, BATCH))
        noise = self._noise(2 * steps * BATCH, rng).reshape(steps, 2, BATCH, self.dimension)
        data, wanted = self._tensor(contexts), self._tensor(2 * labels - 1)
        minus_one = -self._torch.ones(BATCH)
        with one_torch_thread(self._torch):
            for step in range(steps):
                chosen = self._torch.from_numpy(rows[step])
                with self._torch.no_grad():
                    generated = self._generated(noise[step, 0])
                both = self._torch.cat([data[chosen], generated])
                miss = self._scores(both) - self._torch.cat([wanted[chosen], minus_one])
                self._descend(self._discriminator, 2 * (miss**2).mean())
                miss = self._scores(self._generated(noise[step, 1])) - 1
                self._descend(self._generator, (miss**2).mean())

    def _descend(self, network: _Network, loss: Any) -> None:
        """One step of RMSProp, with the arithmetic of torch's own and fewer calls around it."""
        weights, squares = network.weights, network.squares
        (gradient,) = self._torch.autograd.grad(loss, [weights])
        with self._torch.no_grad():
            squares.mul_(REMEMBERED_SQUARES)
            squares.addcmul_(gradient, gradient, value=1 - REMEMBERED_SQUARES)
            weights.addcdiv_(gradient, squares.sqrt().add_(TINY), value=-LEARNING_RATE)
            network.steps.add_(1.0)

    def _generated(self, noise: Any) -> Any:
        return self._torch.tanh(self._forward(self._generator, noise, self._torch.relu))

    def _scores(self, contexts: Any) -> Any:
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
        flat = self._tensor(np.concatenate(weights)).requires_grad_()
        return _Network(flat, shapes, self._torch.zeros_like(flat), self._torch.tensor(0.0))

    def _noise(self, n: int, rng: np.random.Generator) -> Any:
        return self._tensor(rng.standard_normal((n, self.dimension)))

    def _tensor(self, array: Array) -> Any:
        return self._torch.tensor(array, dtype=self._torch.float32)

    def _tensors(self) -> list[Any]:
        """Everything that training changes, in a fixed order."""
        networks = (self._generator, self._discriminator)
        found = [network.weights.detach() for network in networks]
        for network in networks:
            found += [network.squares, network.steps]
        return found

    def state(self) -> State:
        return {str(i): tensor.numpy().copy() for i, tensor in enumerate(self._tensors())}

    def restore(self, state: State) -> None:
        for i, tensor in enumerate(self._tensors()):
            tensor.copy_(self._torch.from_numpy(np.array(state[str(i)])))
