"""A teacher in a Stable-Baselines3 script: one callback (extra `sb3`)."""

# Stable-Baselines3's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from selfpaced.files import npz_bytes, read_npz, write_atomically
from selfpaced.learners.episodic import described, part_of
from selfpaced.maths.arrays import Array, IntArray, check_at_least
from selfpaced.maths.box import Box
from selfpaced.randomness import generator_state, restored_generator
from selfpaced.types import State, Teacher


class Episodes(NamedTuple):
    """Finished episodes, one entry each."""

    contexts: Array  # (n, d)
    returns: Array  # (n,)
    successes: Array  # (n,)


class CurriculumCallback(BaseCallback):
    """Tells `teacher` of every episode that ends and queues the contexts it asks for.

    The environments are `ContextualEnv`s in a vector environment, with whatever around them.
    Each has `ahead` contexts waiting, so what the teacher has just learned shows after as many
    episodes. Outside of `learn` they rest, and the environments play their own `context`. Every
    `record_every` episodes the curriculum goes to Stable-Baselines3's logger (as "curriculum/...")
    and to `record`, for example a `Logbook`, which keeps it in a store.

    `save` and `load` keep teacher, waiting contexts and random numbers. Stable-Baselines3 does
    not save environments: a loaded training begins its first episodes anew, at the contexts that
    were waiting.
    """

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
        self.episodes = 0  # finished so far
        self._rng = np.random.default_rng(seed)
        self._ahead = check_at_least("ahead", ahead, 1)
        self._record_every = check_at_least("record_every", record_every, 1)
        self._record = record
        self._ended: list[Episodes] = []  # since the last record
        self._records = 0
        self._environments: Any = None
        self._bounds: Box | None = None  # of the environments' contexts
        self._waiting: list[Array] = []  # of each environment, while there are none or they rest

    def attach(self, environments: Any) -> None:
        """Let contexts wait in a vector of `environments` before they are first reset."""
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
        # What another callback has left waiting there is not this teacher's.
        nothing = [np.zeros((0, 0))] * environments.num_envs
        for i, contexts in enumerate(self._waiting or nothing):
            environments.env_method("set_wrapper_attr", "waiting_contexts", contexts, indices=i)
        self.resume()
        self._fill(self._ahead + 1)  # the first reset takes one

    def _on_training_start(self) -> None:
        if self._environments is self.training_env:
            self.resume()
        else:
            self.attach(self.training_env)
        if not all(self._environments.get_attr("taught")):
            # learn() has reset them at contexts that the teacher did not choose: those episodes
            # are dropped unplayed.
            self._begin_anew()
        self._fill(self._ahead)

    def _on_training_end(self) -> None:
        """Evaluations in the same environments leave the waiting contexts alone."""
        self._waiting = self.waiting
        self._environments.env_method("set_wrapper_attr", "resting", True)

    def resume(self) -> None:
        """Let the next resets take what waits; `learn` does so after its first one."""
        self._waiting = []
        self._environments.env_method("set_wrapper_attr", "resting", False)

    def _fill(self, least: int) -> None:
        """Let at least so many contexts wait in every environment."""
        waiting = self.waiting
        self._queue([i for i, w in enumerate(waiting) for _ in range(least - len(w))])

    @property
    def waiting(self) -> list[Array]:
        """(k, d) of every environment: the contexts it will play next."""
        if self._environments is None or self._waiting:
            return self._waiting
        return self._environments.get_attr("waiting_contexts")

    def _begin_anew(self) -> None:
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
            self._note(joined(self._ended))
            self._ended = []

    def _queue(self, indices: Iterable[int]) -> None:
        """One more context for each of `indices`, with repeats."""
        wanted = list(indices)
        if not wanted:
            return
        asked = self.teacher.ask(len(wanted), self._rng)
        if self._bounds is not None:  # here, where the error is not one of another process
            asked = self._bounds.check("contexts", asked)
        for i, context in zip(wanted, asked, strict=True):
            self._environments.env_method("queue_contexts", context[None], indices=i)

    def _note(self, episodes: Episodes) -> None:
        """Write down where the curriculum is."""
        known: dict[str, Any] = {
            "rollouts": self.episodes,
            "reward": float(episodes.returns.mean()),
            "success": float(episodes.successes.mean()),
            **described(getattr(self.teacher, "context_distribution", None), episodes.contexts),
        }
        for name in ("reward", "success"):
            self.logger.record(f"curriculum/{name}", known[name])
        for k, (mean, variance) in enumerate(
            zip(known["context_mean"], np.diagonal(known["context_covariance"]), strict=True)
        ):
            self.logger.record(f"curriculum/context_{k}_mean", mean)
            self.logger.record(f"curriculum/context_{k}_deviation", float(np.sqrt(variance)))
        if self._record is not None:
            self._record({"iteration": self._records, **known})

    def state(self) -> State:
        """Teacher, waiting contexts and random numbers as plain arrays."""
        waiting = self.waiting
        return {
            "rng": generator_state(self._rng),
            "episodes": np.array(self.episodes),
            "records": np.array(self._records),
            "environments": np.array(len(waiting)),
            **{f"waiting.{i}": np.array(contexts) for i, contexts in enumerate(waiting)},
            **{f"ended.{name}": values for name, values in self._ended_state().items()},
            **{f"teacher.{name}": value for name, value in self.teacher.state().items()},
        }

    def _ended_state(self) -> State:
        return joined(self._ended)._asdict() if self._ended else {}

    def restore(self, state: State) -> None:
        """Go on from a `state`, in this process or another one."""
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
        """Go on from what `save` has written."""
        self.restore(read_npz(Path(path).read_bytes()))


def joined(parts: list[Episodes]) -> Episodes:
    """Episodes one after the other."""
    return Episodes(*(np.concatenate(column) for column in zip(*parts, strict=True)))
