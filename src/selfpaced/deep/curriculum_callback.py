"""The callback with which a Stable-Baselines3 script learns from a teacher (extra `sb3`)."""

# Stable-Baselines3's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from selfpaced.learners.episodic import described
from selfpaced.maths.arrays import Array, IntArray, check_at_least
from selfpaced.maths.box import Box
from selfpaced.maths.randomness import generator_state, restored_generator
from selfpaced.store.compatibility import upgraded_state
from selfpaced.store.files import npz_bytes, read_npz, write_atomically
from selfpaced.types import State, Teacher, part_of, prefixed


class Episodes(NamedTuple):
    """Finished episodes, one per row."""

    contexts: Array
    """(n, d): the context of each episode."""
    returns: Array
    """(n,): the sum of each episode's rewards."""
    successes: Array
    """(n,): 1 for success, 0 for failure; nan where the environment does not define success."""


class CurriculumCallback(BaseCallback):
    """Tells a teacher of every episode that ends, and queues the contexts that the teacher chooses.

    The environments are `ContextualEnv`s in a vector environment, inside any other wrappers.

    >>> import gymnasium
    >>> from stable_baselines3 import PPO
    >>> from stable_baselines3.common.env_util import make_vec_env
    >>> from selfpaced import ContextualEnv, CurriculumCallback, Gaussian, SelfPacedThreshold
    >>> name = "selfpaced.deep.environments:selfpaced/PointMass2D-v0"
    >>> env = make_vec_env(lambda: ContextualEnv(gymnasium.make(name)), n_envs=2)
    >>> target = Gaussian([2.5, 0.6], [[0.01, 0], [0, 0.01]])  # position and width of the gate
    >>> callback = CurriculumCallback(SelfPacedThreshold().start(env.get_attr("bounds")[0], target))
    >>> model = PPO("MlpPolicy", env, n_steps=100, batch_size=50, n_epochs=1)
    >>> _ = model.learn(200, callback=callback)

    Outside of `learn` the queues are paused, and resets take the environments' own `context`.
    `save` and `load` keep the teacher, the waiting contexts and the random generator.
    Stable-Baselines3 does not save environments: a loaded training begins with new episodes, at
    the contexts that were waiting.

    `teacher`: what chooses the contexts. `seed`: of the teacher's draws, or a generator.
    `ahead`: contexts that wait in every environment; the teacher's newest choice is used after as
    many episodes. `record_every`: episodes between two records of the curriculum, which go to
    Stable-Baselines3's logger (as "curriculum/...") and to `record`. `record`: a function of the
    record, for example a `Logbook`, which keeps it in a store.
    """

    teacher: Teacher
    """What chooses the contexts."""
    episodes: int
    """Episodes finished so far."""

    def __init__(
        self,
        teacher: Teacher,
        *,
        seed: int | np.random.Generator = 0,
        ahead: int = 1,
        record_every: int = 50,
        record: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        super().__init__()
        self.teacher = teacher
        self.episodes = 0
        self._rng = np.random.default_rng(seed)
        self._ahead = check_at_least("ahead", ahead, 1)
        self._record_every = check_at_least("record_every", record_every, 1)
        self._record = record
        self._ended: list[Episodes] = []  # since the last record
        self._records = 0
        self._environments: Any = None
        self._bounds: Box | None = None  # of the environments' contexts
        # One entry per environment before `attach` and outside of `learn`; otherwise empty,
        # because the environments' queues hold the contexts.
        self._waiting: list[Array] = []

    def __repr__(self) -> str:
        return f"CurriculumCallback({self.teacher!r}, {self.episodes} episodes)"

    def attach(self, environments: Any) -> None:
        """Fill the queues of `environments`, a vector environment of `ContextualEnv`s.

        `learn` does this only after its first reset; call it earlier if you reset yourself.
        """
        try:
            self._bounds = environments.get_attr("bounds")[0]
        except (AttributeError, EOFError) as error:  # in this process, or in one of its children
            raise ValueError("environments must be wrapped in ContextualEnv") from error
        if self._waiting and len(self._waiting) != environments.num_envs:
            raise ValueError(
                f"environments must be as many as the state has: {len(self._waiting)}; "
                f"got {environments.num_envs}"
            )
        self._environments = environments
        # Another callback may have left contexts there, which this teacher did not choose.
        none_each = [np.zeros((0, 0))] * environments.num_envs
        for i, contexts in enumerate(self._waiting or none_each):
            environments.env_method("set_wrapper_attr", "waiting_contexts", contexts, indices=i)
        self.resume()
        self._fill_to(self._ahead + 1)  # the first reset takes one

    def _on_training_start(self) -> None:
        if self._environments is self.training_env:
            self.resume()
        else:
            self.attach(self.training_env)
        if not all(self._environments.get_attr("from_queue")):
            # learn() has reset them at contexts that the teacher did not choose: those episodes
            # are dropped before their first step.
            self._reset_environments()
        self._fill_to(self._ahead)

    def _on_training_end(self) -> None:
        """Pause the queues, so that evaluations in the same environments do not use them up."""
        self._waiting = self.waiting_contexts
        self._environments.env_method("set_wrapper_attr", "paused", True)

    def resume(self) -> None:
        """Unpause the queues.

        `learn` does this only after its first reset; call it earlier if you reset yourself.
        """
        self._waiting = []
        self._environments.env_method("set_wrapper_attr", "paused", False)

    def _fill_to(self, least: int) -> None:
        """Queue contexts until at least `least` wait in every environment."""
        waiting = self.waiting_contexts
        self._queue([i for i, w in enumerate(waiting) for _ in range(least - len(w))])

    @property
    def waiting_contexts(self) -> list[Array]:
        """For every environment the contexts (k, d) of its next episodes, in order."""
        if self._environments is None or self._waiting:
            return self._waiting
        return self._environments.get_attr("waiting_contexts")

    def _reset_environments(self) -> None:
        """Reset them, and tell the model, which keeps the last observations to itself."""
        model: Any = self.model
        model._last_obs = self.training_env.reset()
        model._last_episode_starts = np.ones(self.training_env.num_envs, dtype=bool)
        if model._vec_normalize_env is not None:
            model._last_original_obs = model._vec_normalize_env.get_original_obs()

    def _on_step(self) -> bool:
        ended = np.flatnonzero(self.locals["dones"])
        if ended.size:
            self._finish(ended, [self.locals["infos"][i] for i in ended])
            self._queue(ended.tolist())  # each took one when it was reset
        return True

    def _finish(self, ended: IntArray, infos: list[dict[str, Any]]) -> None:
        """Tell the teacher of the episodes that `ended` (k,), and record them when it is time."""
        episodes = Episodes(
            np.array([info["context"] for info in infos]),
            np.array([info["episode_return"] for info in infos]),
            np.array([info["episode_success"] for info in infos]),
        )
        for i, context, value in zip(ended, episodes.contexts, episodes.returns, strict=True):
            if not np.isfinite(value):
                raise ValueError(
                    f"returns must be finite; environment {i} returned {value} at the context "
                    f"{context.tolist()}"
                )
        self.teacher.tell(*episodes)
        self._ended.append(episodes)
        self.episodes += len(infos)
        if self.episodes // self._record_every > self._records:
            self._records = self.episodes // self._record_every
            self._write_record(joined(self._ended))
            self._ended = []

    def _queue(self, indices: Iterable[int]) -> None:
        """Ask the teacher for one context per entry of `indices`, which may repeat; queue them."""
        wanted = list(indices)
        if not wanted:
            return
        asked = self.teacher.ask(len(wanted), self._rng)
        if self._bounds is not None:  # an error in another process would be hard to read
            asked = self._bounds.check("contexts", asked)
        for i, context in zip(wanted, asked, strict=True):
            self._environments.env_method("queue_contexts", context[None], indices=i)

    def _write_record(self, episodes: Episodes) -> None:
        """Log and record rewards, successes and contexts since the last record."""
        found: dict[str, Any] = {
            "rollouts": self.episodes,
            "reward": float(episodes.returns.mean()),
            "success": float(episodes.successes.mean()),
            **described(getattr(self.teacher, "context_distribution", None), episodes.contexts),
        }
        for name in ("reward", "success"):
            self.logger.record(f"curriculum/{name}", found[name])
        for k, (mean, variance) in enumerate(
            zip(found["context_mean"], np.diagonal(found["context_covariance"]), strict=True)
        ):
            self.logger.record(f"curriculum/context_{k}_mean", mean)
            self.logger.record(f"curriculum/context_{k}_deviation", float(np.sqrt(variance)))
        if self._record is not None:
            self._record({"iteration": self._records, **found})

    def state(self) -> State:
        """The teacher, the waiting contexts and the random generator as plain arrays."""
        waiting = self.waiting_contexts
        return {
            "rng": generator_state(self._rng),
            "episodes": np.array(self.episodes),
            "records": np.array(self._records),
            "environments": np.array(len(waiting)),
            **{f"waiting.{i}": np.array(contexts) for i, contexts in enumerate(waiting)},
            **prefixed("ended.", self._ended_state()),
            **prefixed("teacher.", self.teacher.state()),
        }

    def _ended_state(self) -> State:
        return joined(self._ended)._asdict() if self._ended else {}

    def restore(self, state: State) -> None:
        """Continue from a `state`, in this process or another one."""
        self._rng = restored_generator(state["rng"])
        self.episodes, self._records = int(state["episodes"]), int(state["records"])
        count = int(state["environments"])
        self._waiting = [np.array(state[f"waiting.{i}"]) for i in range(count)]
        ended = part_of(state, "ended.")
        self._ended = [Episodes(**ended)] if ended else []
        self.teacher.restore(part_of(state, "teacher."))
        if self._environments is not None:
            self.attach(self._environments)

    def save(self, path: Path | str) -> None:
        """Write the state to `path` as plain arrays (.npz)."""
        write_atomically(Path(path), npz_bytes(self.state()))

    def load(self, path: Path | str) -> None:
        """Continue from a file that `save` has written."""
        self.restore(upgraded_state(read_npz(Path(path).read_bytes())))


def joined(parts: list[Episodes]) -> Episodes:
    """The episodes of all `parts`, in order."""
    return Episodes(*(np.concatenate(column) for column in zip(*parts, strict=True)))
