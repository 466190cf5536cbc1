"""A curriculum around a Gymnasium vector environment, in every autoreset mode (extra `gym`)."""

# Gymnasium's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from selfpaced.deep.curriculum import Curriculum
from selfpaced.deep.framework_arrays import as_numpy
from selfpaced.deep.success_rule import SuccessRule, checked_rule, column_of, successes_of
from selfpaced.deep.vector_contexts import ApplyToRows, bounds_of, channel_to
from selfpaced.maths.arrays import Array, BoolArray, IntArray, check_at_least
from selfpaced.maths.box import Box
from selfpaced.targets.target import Target
from selfpaced.types import Teacher, TeacherConfig


class CurriculumVectorEnv(gymnasium.vector.VectorWrapper[Any, Any, Any, Any, Any]):
    """A vector environment whose episodes are at the contexts that a teacher chooses.

    >>> import gymnasium
    >>> from selfpaced import ContextualEnv, CurriculumVectorEnv, Gaussian, SelfPacedThreshold
    >>> name = "selfpaced.deep.environments:selfpaced/PointMass2D-v0"
    >>> make = lambda: ContextualEnv(gymnasium.make(name))
    >>> envs = gymnasium.vector.SyncVectorEnv([make] * 4)  # or AsyncVectorEnv
    >>> target = Gaussian([2.5, 0.6], [[0.01, 0], [0, 0.01]])  # position and width of the gate
    >>> envs = CurriculumVectorEnv(envs, SelfPacedThreshold(), target)
    >>> observations, infos = envs.reset(seed=0)

    From here on `envs` is used as before. When an episode ends, the teacher is told of it and
    chooses the environment's next context. `infos` then has "episode", with arrays (n,) of the
    returns "r", lengths "l", "success" and "context" (n, d) of the episodes that ended, and
    "replaced", which is True where the environment had refused the teacher's context (see
    `ContextualEnv`); the mask "_episode" says which ended. To evaluate, use `measure_on_target`
    with environments of its own.

    `env`: a `SyncVectorEnv` or `AsyncVectorEnv` of `ContextualEnv`s, or, with `apply`, any other.
    `teacher`: a configuration, or a teacher that is started already. `target`: the contexts that
    shall be mastered. `context_space`: bounds of the contexts, if the environment has none.
    `apply`: for a vector environment of another kind, the name of its method, or a function of
    (environment, numbers (k,), contexts (k, d)), that sets the contexts of the next episodes of
    these environments. `success`: what counts as a success, see `ContextualEnv`; a name is that of
    an entry of `infos`, and a function gets `infos`. `ahead`: contexts that wait in every
    environment while it plays. If environments reset themselves within a step (SAME_STEP), that
    must be one or more; otherwise the default is none, so that the teacher's newest choice is
    played at once. `seed`, `record_every`, `record`: see `Curriculum`.
    """

    curriculum: Curriculum
    """The teacher, and the contexts that it has handed out."""

    def __init__(
        self,
        env: gymnasium.vector.VectorEnv[Any, Any, Any],
        teacher: Teacher | TeacherConfig,
        target: Target | None = None,
        *,
        context_space: Box | None = None,
        apply: ApplyToRows | None = None,
        success: SuccessRule = "episode_success",
        ahead: int | None = None,
        seed: int | np.random.Generator = 0,
        record_every: int = 50,
        record: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        super().__init__(env)
        self._mode = _autoreset_mode(env)
        self._channel = channel_to(env, apply)
        self._success = checked_rule(success)
        self._ahead = self._checked_ahead(ahead)
        space = bounds_of(env, context_space)
        self.curriculum = Curriculum(
            teacher, space, target, seed=seed, record_every=record_every, record=record
        )
        if self._success is None:
            self.curriculum.expect_no_successes()
        n = env.num_envs
        self._waiting = np.zeros(n, dtype=np.int64)  # contexts that environments hold and await
        self._playing = np.zeros(n, dtype=bool)  # an episode is under way
        self._from_teacher = np.zeros(n, dtype=bool)  # and the teacher chose its context
        self._replaced = np.zeros(n, dtype=bool)  # the environment has refused what was chosen
        self._resetting = np.zeros(n, dtype=bool)  # the next step is a reset (NEXT_STEP)
        self._returns, self._lengths = np.zeros(n), np.zeros(n, dtype=np.int64)
        self._channel.clear()

    def _checked_ahead(self, ahead: int | None) -> int:
        least = 1 if self._mode == AutoresetMode.SAME_STEP else 0
        if ahead is None:
            return least
        if check_at_least("ahead", ahead, least) > least and not self._channel.holds_many:
            raise ValueError(
                f"ahead must be {least} for an environment that holds one context; got {ahead}"
            )
        return ahead

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin episodes in all environments, or in those of `options["reset_mask"]`.

        Each is at the next context of the curriculum. Episodes that are under way are cut short,
        and the teacher is not told of them.
        """
        given = dict(options or {})
        mask = as_numpy(given.get("reset_mask", np.ones(self.num_envs, dtype=bool)))
        rows = np.flatnonzero(mask)
        cut = mask & self._playing & self._from_teacher
        self.curriculum.abandoned(np.flatnonzero(cut))
        chosen_here = "context" in given  # the caller chooses, and nothing that waits is used
        if not chosen_here:
            self._fill(rows, self._ahead + 1 if self._channel.holds_many else 1)
        observations, infos = self.env.reset(seed=seed, options=given or None)
        self._begin(mask, infos, from_teacher=not chosen_here)
        self._fill(rows, self._ahead)
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all environments, tell the teacher of episodes that end, and choose new contexts."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        begun = self._resetting
        if begun.any():  # NEXT_STEP: their actions were ignored, and a new episode has begun
            self._begin(begun, infos, from_teacher=True)
        counted = self._playing & ~begun
        self._returns[counted] += as_numpy(rewards)[counted]
        self._lengths[counted] += 1
        ended = as_numpy(terminated).astype(bool)
        done = (ended | as_numpy(truncated).astype(bool)) & counted
        self._resetting = done & (self._mode == AutoresetMode.NEXT_STEP)
        if done.any():
            infos = self._finish(np.flatnonzero(done), ended, infos)
        return observations, rewards, terminated, truncated, infos

    def _begin(self, mask: BoolArray, infos: dict[str, Any], *, from_teacher: bool) -> None:
        """Take note that the environments in `mask` (n,) have begun episodes."""
        self._playing = self._playing | mask
        self._from_teacher = np.where(mask, from_teacher, self._from_teacher)
        self._resetting = self._resetting & ~mask
        self._returns = np.where(mask, 0.0, self._returns)
        self._lengths = np.where(mask, 0, self._lengths)
        if from_teacher:
            self._waiting = self._waiting - mask
            self._note_refusals(mask, infos)

    def _note_refusals(self, mask: BoolArray, infos: dict[str, Any]) -> None:
        """Tell the curriculum which of the contexts in `mask` (n,) were refused, and others."""
        self._replaced = self._replaced & ~mask
        if "context_refused" not in infos or not self._channel.holds_many:
            return
        refused = mask & as_numpy(infos["context_refused"]).astype(bool)
        rows = np.flatnonzero(refused)
        if rows.size:
            others = [contexts[1:] for contexts in self._channel.refused_contexts(rows)]
            self.curriculum.refused(rows, np.concatenate(others))
            self._from_teacher = self._from_teacher & ~refused  # they play what was accepted before
            self._replaced = self._replaced | refused

    def _finish(self, rows: IntArray, ended: BoolArray, infos: dict[str, Any]) -> dict[str, Any]:
        """Tell the teacher of the episodes that ended in `rows` (k,); return `infos` with them."""
        same_step = self._mode == AutoresetMode.SAME_STEP
        last: Mapping[str, Any] = infos.get("final_info", infos) if same_step else infos
        returns = column_of(last, "episode_return", rows, self._returns[rows])
        successes = successes_of(self._success, last, rows, returns, ended)
        contexts = None
        if "context" in last and self._channel.holds_many:  # what was really played
            contexts = column_of(last, "context", rows, np.zeros((len(rows), 1)))
        episode = self._statistics(rows, returns, successes)
        episode["context"][rows] = self._told(rows, returns, successes, contexts)
        if same_step:  # they have begun their next episodes
            over = np.zeros(self.num_envs, dtype=bool)
            over[rows] = True
            self._begin(over, infos, from_teacher=True)
            self._fill(rows, self._ahead)
        else:
            self._playing[rows] = False
            self._fill(rows, self._ahead + 1)
        mask = np.zeros(self.num_envs, dtype=bool)
        mask[rows] = True
        return {**infos, "episode": {**infos.get("episode", {}), **episode}, "_episode": mask}

    def _told(
        self, rows: IntArray, returns: Array, successes: Array, contexts: Array | None
    ) -> Array:
        """Tell the curriculum of finished episodes; return their contexts (k, d)."""
        if contexts is None:
            ids, flying = self.curriculum.in_flight()
            contexts = flying[np.searchsorted(ids, rows)]  # the oldest of each environment
            self.curriculum.finished(rows, returns, successes)
        else:
            self.curriculum.finished(rows, returns, successes, contexts)
        return contexts

    def _statistics(self, rows: IntArray, returns: Array, successes: Array) -> dict[str, Any]:
        """Arrays of all environments, zero where no episode ended."""
        n = self.num_envs
        space = self.curriculum.context_space
        found: dict[str, Any] = {
            "r": np.zeros(n),
            "l": np.zeros(n, dtype=np.int64),
            "success": np.zeros(n),
            "replaced": np.zeros(n, dtype=bool),
            "context": np.zeros((n, 0 if space is None else space.dimension)),
        }
        found["r"][rows], found["l"][rows] = returns, self._lengths[rows]
        found["replaced"][rows] = self._replaced[rows]
        found["success"][rows] = successes
        return found

    def _fill(self, rows: IntArray, least: int) -> None:
        """Send contexts to the environments `rows` until at least `least` wait in each."""
        ids = np.repeat(rows, np.maximum(least - self._waiting[rows], 0))
        if len(ids) == 0:
            return
        np.add.at(self._waiting, ids, 1)
        self._channel.send(ids, self.curriculum.next_contexts(ids))

    def state_dict(self) -> dict[str, Any]:
        """The curriculum as numbers and text, for a checkpoint; see `Curriculum`."""
        return self.curriculum.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` returned; `reset` must come next.

        Environments are not part of a checkpoint. Episodes that were under way are played again
        from their beginning, at the same contexts, and then those that waited.
        """
        self.curriculum.load_state_dict(state_dict)
        self.curriculum.restart_episodes()
        self._waiting[:] = 0
        self._playing[:] = False
        self._resetting[:] = False
        self._channel.clear()


def _autoreset_mode(env: Any) -> AutoresetMode:
    """When `env` begins new episodes; raise a ValueError if it does not say."""
    mode = (env.metadata or {}).get("autoreset_mode")
    if not isinstance(mode, AutoresetMode):
        raise ValueError(
            'env must say in metadata["autoreset_mode"] when it resets environments: NEXT_STEP, '
            f"SAME_STEP or DISABLED of gymnasium.vector.AutoresetMode; got {mode!r}"
        )
    return mode
