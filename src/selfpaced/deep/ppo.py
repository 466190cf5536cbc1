"""PPO by Stable-Baselines3 (extra `sb3`), with any teacher, as a training like the others."""

# Stable-Baselines3 and torch load when a training starts, and are partly untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from selfpaced.learners.episodic import described, part_of
from selfpaced.maths.arrays import Array, check_at_least, check_positive
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.network import CLIP, EPSILON, NetworkPolicy
from selfpaced.types import (
    Outcomes,
    Problem,
    Spent,
    State,
    StepTask,
    Streams,
    Task,
    TeacherNumbers,
)

Statistics = tuple[str, Any]  # of the normalising wrapper: a name and its running moments


@dataclass(frozen=True, kw_only=True)
class PPO:
    """PPO on contexts that a teacher chooses, or on the mean of the target.

    Without a teacher it is the paper's (appendix, "Reacher Experiment"). An iteration is as many
    updates as it takes to spend `n_samples` rollouts, and the first one spends the
    `buffer_size - 1` batches more that other learners fill their buffers with. A rollout is an
    episode's worth of steps. Every update starts with new episodes, so that all there is to save
    between updates are arrays; the teacher is not told of those that an update cuts short, so let
    `steps` be a multiple of an episode's.
    """

    needs: ClassVar[tuple[str, ...]] = ("gymnasium", "stable_baselines3", "torch")
    environment: str  # Gymnasium's name, with the module that registers it
    environments: int = 8
    steps: int = 450  # of each environment per update
    minibatches: int = 5
    epochs: int = 15
    hidden: tuple[int, ...] = (164, 164)  # of the policy and, apart from it, of the value function
    gamma: float = 0.999
    gae_lambda: float = 1.0
    entropy: float = 1e-3  # its weight in the loss
    learning_rate: float = 2.5e-4
    clip: float = 0.2
    value_weight: float = 0.5
    max_gradient: float = 0.5
    n_samples: int = 50
    buffer_size: int = 10
    teacher: TeacherNumbers | None = None

    def __post_init__(self) -> None:
        names = ("environments", "steps", "minibatches", "epochs", "n_samples", "buffer_size")
        for name in names:
            check_at_least(name, getattr(self, name), 1)
        for units in self.hidden:
            check_at_least("hidden", units, 1)
        check_positive("learning_rate", self.learning_rate)
        if self.environments * self.steps % self.minibatches:
            raise ValueError(
                f"minibatches must divide the {self.environments * self.steps} steps of an update; "
                f"got {self.minibatches}"
            )

    def start(self, problem: Problem, streams: Streams) -> "StepTraining":
        if not isinstance(problem.task, StepTask):
            raise ValueError(
                f"task must be one that can be followed step by step for PPO; "
                f"{type(problem.task).__name__} cannot"
            )
        return StepTraining(self, problem, problem.task, streams)


class StepTraining:
    """Stable-Baselines3's PPO between two updates."""

    def __init__(self, numbers: PPO, problem: Problem, task: StepTask, streams: Streams) -> None:
        import torch
        from stable_baselines3.common.callbacks import ConvertCallback

        self._as_callback = ConvertCallback
        self._numbers, self._problem, self._task, self._torch = numbers, problem, task, torch
        self._rollouts_per_update = 0.0
        self._updates = self._iteration = 0
        self._random = GlobalGenerators(torch, streams.learn)
        self._curriculum: Any = None  # the callback that asks and tells the teacher
        if numbers.teacher is not None:
            from selfpaced.deep.sb3 import CurriculumCallback

            teacher = numbers.teacher.start(problem.task.context_space, problem.target)
            self._curriculum = CurriculumCallback(teacher, seed=streams.world)
        with self._quietly():
            self._environment, self._model, episode = _made(numbers, problem.target.mean)
            if self._curriculum is not None:
                self._curriculum.attach(self._environment)
        self._rollouts_per_update = numbers.environments * numbers.steps / episode

    @property
    def spent(self) -> Spent:
        steps = self._updates * self._numbers.environments * self._numbers.steps
        return Spent(round(self._updates * self._rollouts_per_update), steps)

    def advance(self) -> dict[str, Any]:
        numbers = self._numbers
        ended: list[dict[str, Any]] = []
        with self._quietly():
            while self.spent.rollouts < (self._iteration + numbers.buffer_size) * numbers.n_samples:
                ended += self._update()
        self._iteration += 1
        logged: dict[str, Any] = self._model.logger.name_to_value
        return {
            "rollouts": self.spent.rollouts,
            **_of_episodes(ended),
            "entropy": self.policy.entropy,
            **self._contexts(ended),
            "updates": self._updates,
            "kl_update": float(logged.get("train/approx_kl", np.nan)),
            "clipped": float(logged.get("train/clip_fraction", np.nan)),
            "explained_variance": float(logged.get("train/explained_variance", np.nan)),
        }

    def _contexts(self, ended: list[dict[str, Any]]) -> dict[str, Any]:
        """Where the contexts are."""
        mean = self._problem.target.mean
        if self._curriculum is None:
            nowhere_else = np.zeros((len(mean), len(mean)))
            return {"context_mean": mean.tolist(), "context_covariance": nowhere_else.tolist()}
        known: Gaussian | None = getattr(self._curriculum.teacher, "context_distribution", None)
        drawn = [info["context"] for info in ended]
        if not drawn:
            drawn = np.concatenate(self._curriculum.waiting)
        found = described(known, np.array(drawn))
        return found if known is None else {**found, "kl_to_target": known.kl(self._problem.target)}

    def _update(self) -> list[dict[str, Any]]:
        """One update; what is known of the episodes that ended before it."""
        ended: list[dict[str, Any]] = []

        def notice(found: dict[str, Any], _: dict[str, Any]) -> bool:
            ended.extend(info for info in found["infos"] if "episode" in info)
            return True

        self._model.set_env(self._environment, force_reset=True)
        if self._curriculum is not None:
            self._curriculum.resume()  # before learn() resets
        steps = self._numbers.environments * self._numbers.steps
        teaching = [] if self._curriculum is None else [self._curriculum]
        callback = [self._as_callback(notice), *teaching]
        self._model.learn(steps, callback=callback, log_interval=None, reset_num_timesteps=False)
        self._updates += 1
        return ended

    @property
    def policy(self) -> NetworkPolicy:
        network = self._model.policy
        layers = [*network.mlp_extractor.policy_net, network.action_net]
        linear = [layer for layer in layers if hasattr(layer, "weight")]
        seen = self._environment.obs_rms
        return NetworkPolicy(
            tuple(layer.weight.detach().numpy().T.astype(float) for layer in linear),
            tuple(layer.bias.detach().numpy().astype(float) for layer in linear),
            np.exp(network.log_std.detach().numpy().astype(float)),
            seen.mean.astype(float),
            seen.var.astype(float),
        )

    def measure(
        self, contexts: Array, rng: np.random.Generator, task: Task | None = None
    ) -> Outcomes:
        """The policy as learnt, stochastic, under the rules and the reward of the episodes."""
        policy, followed = self.policy, task or self._task
        if not isinstance(followed, StepTask):
            raise ValueError(f"task must be one to follow; {type(followed).__name__} is not")
        return followed.follow(contexts, lambda seen: policy.sample(seen, rng))[0]

    def trajectories(self, contexts: Array, rng: np.random.Generator) -> Array:
        policy = self.policy
        return self._task.follow(contexts, lambda seen: policy.sample(seen, rng))[1]

    def state(self) -> State:
        tensors = {f"tensor.{i}": t.numpy().copy() for i, t in enumerate(self._tensors())}
        moments: State = {}
        for name, found in self._moments():
            moments[f"{name}.mean"], moments[f"{name}.var"] = np.array(found.mean), found.var
            moments[f"{name}.count"] = np.array(found.count)
        counts = {
            "updates": np.array(self._updates),
            "iteration": np.array(self._iteration),
            "adam": np.array(len(self._model.policy.optimizer.state)),
        }
        teaching: State = {} if self._curriculum is None else self._curriculum.state()
        curriculum = {f"curriculum.{name}": value for name, value in teaching.items()}
        return {**counts, **tensors, **moments, **self._random.state(), **curriculum}

    def restore(self, state: State) -> None:
        self._updates, self._iteration = int(state["updates"]), int(state["iteration"])
        self._model.num_timesteps = self.spent.steps
        optimiser = self._model.policy.optimizer
        optimiser.state.clear()
        if int(state["adam"]):  # before the first update it has no moments
            for parameter in optimiser.param_groups[0]["params"]:
                optimiser.state[parameter] = {
                    "step": self._torch.tensor(0.0),
                    "exp_avg": self._torch.zeros_like(parameter),
                    "exp_avg_sq": self._torch.zeros_like(parameter),
                }
        for i, tensor in enumerate(self._tensors()):
            tensor.copy_(self._torch.from_numpy(np.array(state[f"tensor.{i}"])))
        for name, found in self._moments():
            found.mean, found.var = np.array(state[f"{name}.mean"]), np.array(state[f"{name}.var"])
            found.count = float(state[f"{name}.count"])
        self._random.restore(state)
        if self._curriculum is not None:
            self._curriculum.restore(part_of(state, "curriculum."))

    def _tensors(self) -> list[Any]:
        """Everything that torch changes in an update, in a fixed order."""
        policy = self._model.policy
        found = [tensor.detach() for tensor in policy.state_dict().values()]
        for parameter in policy.optimizer.param_groups[0]["params"]:
            if parameter in policy.optimizer.state:
                known = policy.optimizer.state[parameter]
                found += [known["step"], known["exp_avg"], known["exp_avg_sq"]]
        return found

    def _moments(self) -> tuple[Statistics, Statistics]:
        return ("observations", self._environment.obs_rms), ("returns", self._environment.ret_rms)

    @contextlib.contextmanager
    def _quietly(self) -> Generator[None, None, None]:
        """Our own random numbers and one thread, for as long as Stable-Baselines3 works."""
        threads = self._torch.get_num_threads()
        self._torch.set_num_threads(1)
        try:
            with self._random.lent():
                yield
        finally:
            self._torch.set_num_threads(threads)


def _of_episodes(ended: list[dict[str, Any]]) -> dict[str, float]:
    """What is known of the episodes that ended; nan where none did."""
    if not ended:
        return {"success": np.nan, "step_reward": np.nan, "episode_steps": np.nan}
    steps = sum(info["episode"]["l"] for info in ended)
    return {
        "success": float(np.mean([info["episode_success"] for info in ended])),
        "step_reward": float(sum(info["episode"]["r"] for info in ended) / steps),
        "episode_steps": float(steps / len(ended)),
    }


class GlobalGenerators:
    """NumPy's and torch's global generators, which Stable-Baselines3 draws from, of one training.

    They are put in place while it works and the program's own are put back afterwards.
    """

    def __init__(self, torch: Any, rng: np.random.Generator) -> None:
        self._torch = torch
        seeds = rng.integers(2**32, size=2)
        self._numpy: Any = np.random.RandomState(int(seeds[0])).get_state(legacy=False)
        self._tensor: Any = torch.Generator().manual_seed(int(seeds[1])).get_state()

    @contextlib.contextmanager
    def lent(self) -> Generator[None, None, None]:
        """The global generators are ours."""
        others = np.random.get_state(legacy=False), self._torch.get_rng_state()  # noqa: NPY002
        np.random.set_state(self._numpy)  # noqa: NPY002
        self._torch.set_rng_state(self._tensor)
        try:
            yield
        finally:
            self._numpy = np.random.get_state(legacy=False)  # noqa: NPY002
            self._tensor = self._torch.get_rng_state()
            np.random.set_state(others[0])  # noqa: NPY002
            self._torch.set_rng_state(others[1])

    def state(self) -> State:
        words = self._numpy["state"]
        return {
            "numpy.key": np.array(words["key"]),
            "numpy.position": np.array(words["pos"]),
            "numpy.gauss": np.array([self._numpy["has_gauss"], self._numpy["gauss"]], dtype=float),
            "torch": self._tensor.numpy().copy(),
        }

    def restore(self, state: State) -> None:
        has_gauss, gauss = state["numpy.gauss"].tolist()
        self._numpy = {
            "bit_generator": "MT19937",
            "state": {"key": np.array(state["numpy.key"]), "pos": int(state["numpy.position"])},
            "has_gauss": int(has_gauss),
            "gauss": gauss,
        }
        self._tensor = self._torch.from_numpy(np.array(state["torch"]))


def _made(numbers: PPO, context: Array) -> tuple[Any, Any, int]:
    """The normalising vector of environments, SB3's model of them, and an episode's steps."""
    import stable_baselines3
    import torch
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    from selfpaced.deep.together import Together
    from selfpaced.deep.wrapper import all_harmless, made_contextual

    def one() -> Any:
        made = made_contextual(numbers.environment)
        made.get_wrapper_attr("untaught")(context)
        return made

    first = one()
    registered = first.spec
    steps = None if registered is None else registered.max_episode_steps
    if steps is None:
        raise ValueError(
            f"environment must be registered with max_episode_steps; {numbers.environment} is not"
        )
    if numbers.steps < steps:
        raise ValueError(
            f"steps must be at least those of an episode, {steps}, for each update begins with new "
            f"ones; got {numbers.steps}"
        )
    n, inner = numbers.environments, first.unwrapped
    if not ((first.action_space.low == -1).all() and (first.action_space.high == 1).all()):
        raise ValueError(
            f"actions of {numbers.environment} must lie in [-1, 1] "
            f"(gymnasium.wrappers.RescaleAction); got {first.action_space}"
        )
    if hasattr(inner, "side_by_side") and all_harmless(first):
        spaces = inner.observation_space, inner.action_space
        parallel: Any = Together(inner.side_by_side(n), n, steps, spaces, context)
    else:
        parallel = DummyVecEnv([lambda: Monitor(first), *[lambda: Monitor(one())] * (n - 1)])
    environment = VecNormalize(parallel, gamma=numbers.gamma, clip_obs=CLIP, epsilon=EPSILON)
    model = stable_baselines3.PPO(
        "MlpPolicy",
        environment,
        learning_rate=numbers.learning_rate,
        n_steps=numbers.steps,
        batch_size=numbers.environments * numbers.steps // numbers.minibatches,
        n_epochs=numbers.epochs,
        gamma=numbers.gamma,
        gae_lambda=numbers.gae_lambda,
        clip_range=numbers.clip,
        ent_coef=numbers.entropy,
        vf_coef=numbers.value_weight,
        max_grad_norm=numbers.max_gradient,
        policy_kwargs={"net_arch": list(numbers.hidden), "activation_fn": torch.nn.Tanh},
        device="cpu",
    )
    model.set_logger(Logger(folder=None, output_formats=[]))  # or each update makes a folder
    return environment, model, steps
