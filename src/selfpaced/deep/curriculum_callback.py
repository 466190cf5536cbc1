"""The callback with which a Stable-Baselines3 script learns from a teacher (extra `sb3`)."""

# Stable-Baselines3's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from selfpaced.deep.curriculum import Curriculum
from selfpaced.maths.arrays import Array, IntArray, check_at_least
from selfpaced.store.compatibility import upgraded_state
from selfpaced.store.files import npz_bytes, read_npz, write_atomically
from selfpaced.store.health import findings
from selfpaced.types import State, Teacher


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

    `teacher`: what chooses the contexts, started: `SelfPacedThreshold().start(space, target)`.
    `seed`: of the teacher's draws, or a generator. `ahead`: contexts that wait in every
    environment; the teacher's newest choice is used after as many episodes. `record_every`:
    episodes between two records of the curriculum, which go to Stable-Baselines3's logger (as
    "curriculum/...") and to `record`. `record`: a function of the record, for example a `Logbook`,
    which keeps it in a store.
    """

    curriculum: Curriculum
    """The teacher, and the contexts that it has handed out."""

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
        self.curriculum = Curriculum(
            teacher, seed=seed, record_every=record_every, record=self._write_record
        )
        self._ahead = check_at_least("ahead", ahead, 1)
        self._record = record
        self._successes: list[dict[str, Any]] = []  # of all records, by which health is judged
        self._environments: Any = None
        # One entry per environment before `attach` and outside of `learn`; otherwise empty,
        # because the environments' queues hold the contexts.
        self._waiting: list[Array] = []

    def __repr__(self) -> str:
        return f"CurriculumCallback({self.teacher!r}, {self.episodes} episodes)"

    @property
    def teacher(self) -> Teacher:
        """What chooses the contexts."""
        return self.curriculum.teacher

    @property
    def episodes(self) -> int:
        """Episodes finished so far."""
        return self.curriculum.episodes

    def attach(self, environments: Any) -> None:
        """Fill the queues of `environments`, a vector environment of `ContextualEnv`s.

        `learn` does this only after its first reset; call it earlier if you reset yourself.
        """
        try:
            bounds = environments.get_attr("bounds")[0]
        except (AttributeError, EOFError) as error:  # in this process, or in one of its children
            raise ValueError("environments must be wrapped in ContextualEnv") from error
        if self._waiting and len(self._waiting) != environments.num_envs:
            raise ValueError(
                f"environments must be as many as the state has: {len(self._waiting)}; "
                f"got {environments.num_envs}"
            )
        if not all(environments.get_attr("defines_success")):
            self.curriculum.expect_no_successes()
        self._environments = environments
        if self.curriculum.context_space is None:  # an error in another process is hard to read
            self.curriculum.know_space(bounds)
        # Another callback may have left contexts there, which this teacher did not choose.
        none_each = [np.zeros((0, 0))] * environments.num_envs
        self.curriculum.abandoned(self.curriculum.in_flight()[0])
        for i, contexts in enumerate(self._waiting or none_each):
            environments.env_method("set_wrapper_attr", "waiting_contexts", contexts, indices=i)
            self.curriculum.put_in_flight(np.full(len(contexts), i), contexts)
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
        self._forget_cut_episodes()
        self._note_refusals(range(self.training_env.num_envs))
        self._fill_to(self._ahead)

    def _note_refusals(self, indices: Iterable[int]) -> None:
        """Tell the curriculum which contexts the last resets of environments have refused."""
        infos: list[dict[str, Any]] = getattr(self.training_env, "reset_infos", [])
        for i in indices:
            if i < len(infos) and infos[i].get("context_refused", False):
                refused = self._environments.get_attr("refused_contexts", indices=i)[0]
                # The first was in flight, unless an earlier reset has cut its episode short.
                flying, contexts = self.curriculum.in_flight()
                mine = contexts[flying == i]
                oldest = len(mine) > 0 and np.array_equal(mine[0], refused[0])
                self.curriculum.refused([i] if oldest else [], refused[1:] if oldest else refused)

    def _forget_cut_episodes(self) -> None:
        """Forget contexts of episodes that a reset has cut short.

        In flight are the context that an environment plays now, and those that wait.
        """
        flying = np.bincount(
            self.curriculum.in_flight()[0], minlength=self._environments.num_envs
        ).tolist()
        waiting = [len(contexts) + 1 for contexts in self.waiting_contexts]
        self.curriculum.abandoned(
            [i for i, known in enumerate(waiting) for _ in range(flying[i] - known)]
        )

    def _on_training_end(self) -> None:
        """Pause the queues, so that evaluations in the same environments do not use them up."""
        self._waiting = self.waiting_contexts
        self._environments.env_method("set_wrapper_attr", "paused", True)
        for finding in findings(self._successes, None):
            warnings.warn(
                f"the curriculum's health: {finding.kind}: {finding.shown_by}; to try: "
                f"{finding.to_try}",
                stacklevel=2,
            )

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
            self._note_refusals(ended.tolist())
            self._queue(ended.tolist())  # each took one when it was reset
        return True

    def _finish(self, ended: IntArray, infos: list[dict[str, Any]]) -> None:
        """Tell the teacher of the episodes that `ended` (k,)."""
        self.curriculum.finished(
            ended,
            returns=np.array([info["episode_return"] for info in infos]),
            successes=np.array([info["episode_success"] for info in infos]),
            contexts=np.array([info["context"] for info in infos]),
        )

    def _queue(self, indices: Iterable[int]) -> None:
        """Ask the teacher for one context per entry of `indices`, which may repeat; queue them."""
        wanted = list(indices)
        if not wanted:
            return
        for i, context in zip(wanted, self.curriculum.next_contexts(wanted), strict=True):
            self._environments.env_method("queue_contexts", context[None], indices=i)

    def _write_record(self, found: dict[str, Any]) -> None:
        """Log and record rewards, successes and contexts since the last record."""
        for name in ("reward", "success", "threshold"):
            if name in found:
                self.logger.record(f"curriculum/{name}", found[name])
        for k, (mean, variance) in enumerate(
            zip(found["context_mean"], np.diagonal(found["context_covariance"]), strict=True)
        ):
            self.logger.record(f"curriculum/context_{k}_mean", mean)
            self.logger.record(f"curriculum/context_{k}_deviation", float(np.sqrt(variance)))
        self._successes.append({"success": found.get("success", np.nan)})
        if self._record is not None:
            self._record(found)

    def state(self) -> State:
        """The teacher, the waiting contexts and the random generator as plain arrays.

        Episodes under way are left out: Stable-Baselines3 does not save environments.
        """
        waiting = self.waiting_contexts
        kept = {
            name: value
            for name, value in self.curriculum.state().items()
            if not name.startswith("in_flight.")
        }
        return {
            **kept,
            "environments": np.array(len(waiting)),
            **{f"waiting.{i}": np.array(contexts) for i, contexts in enumerate(waiting)},
        }

    def restore(self, state: State) -> None:
        """Continue from a `state`, in this process or another one."""
        count = int(state["environments"])
        waiting = [np.array(state[f"waiting.{i}"]) for i in range(count)]
        self.curriculum.restore(state)
        self._waiting = waiting
        if self._environments is not None:
            self.attach(self._environments)

    def save(self, path: Path | str) -> None:
        """Write the state to `path` as plain arrays (.npz)."""
        write_atomically(Path(path), npz_bytes(self.state()))

    def load(self, path: Path | str) -> None:
        """Continue from a file that `save` has written."""
        self.restore(upgraded_state(read_npz(Path(path).read_bytes())))
