"""Old names in stored files, translated to today's: the one place that knows them.

Fields that configurations got later are filled in with the values that they had by nature before.
Format 1 of a spec called an algorithm's configuration "numbers", and some configurations, fields,
algorithms and metrics had other names. Everything that reads a stored spec or record calls the
functions here, so that the rest of the library knows today's names only.
"""

from collections.abc import Callable
from typing import Any, cast

from selfpaced.types import Record, State

Plain = dict[str, Any]  # a configuration as plain data, with its "type"

ALGORITHMS = {"sprl-ready": "sprl-mastery"}
TEACHERS = {"selfpaced": "threshold", "selfpaced-sprl": "alpha", "selfpaced-ready": "mastery"}
OURS = frozenset(
    {"gate-precision", "gate-global", "reacher", "reacher-kinematic", "ball-in-a-cup"}
)  # experiments whose algorithms were renamed; a user's own keep their names
METRICS = {"able": "mastered"}
ADDED: dict[str, Plain] = {
    # Contexts went back to the last mastered ones and no farther.
    **{
        name: {"retreats": False}
        for name in ("MasteryRule", "SelfPacedThreshold", "SelfPacedAlpha", "CurrOT")
    },
    "StepwisePPO": {
        "adapts_rate": False,  # the learning rate was constant
        "normalise": False,
        "averaged_updates": 1,  # the newest policy was measured
    },
    "Mastery": {
        "decide_by": 1,  # the newest batch alone decided
        "search_epsilon": None,
        "follow_successes": False,
        "narrow_contexts": False,
        "wait_for_successes": False,
        "attempts": 1,
        "measure_noise": False,
        "narrowing": 3.0,
    },
}
RESULTS = {
    "rescored_success": "rescored_faithful_success",
    "rescored_reward": "rescored_faithful_reward",
}


def upgraded_spec(spec: dict[str, Any]) -> dict[str, Any]:
    """`spec` as this version would write it."""
    if spec.get("format", 1) != 1:
        return {**spec, "config": _with_added_fields(spec.get("config", {}))}
    renamed = {**spec, "format": 2, "algorithm": _algorithm(spec)}
    renamed["config"] = _with_added_fields(_current(renamed.pop("numbers", {})))
    problem = renamed.get("problem")
    if isinstance(problem, dict) and "final_task" in problem:  # there was one, without a name
        problem = dict(cast(dict[str, Any], problem))
        finals = {"faithful": problem.pop("final_task")}
        renamed["problem"] = {**problem, "final_tasks": finals}
    return renamed


def upgraded_result(result: dict[str, Any]) -> dict[str, Any]:
    """`result` with today's names of its entries."""
    return {RESULTS.get(name, name): value for name, value in result.items()}


def upgraded_record(record: Record) -> Record:
    """`record` with today's names of metrics."""
    if METRICS.keys().isdisjoint(record):
        return record
    return {METRICS.get(name, name): value for name, value in record.items()}


def upgraded_state(state: State) -> State:
    """The state in a checkpoint, with today's names of what SPRL and teachers keep.

    A self-paced teacher was one class for three; each of today's finds what it needs.
    """
    upgraded: State = {}
    for name, value in state.items():
        inside, dot, last = name.rpartition(".")
        if inside.endswith("pace"):
            inside = inside.removesuffix("pace") + "mover"
        elif last == "ability":
            last = "judge"
        elif f"{inside}{dot}asked_densities" in state:
            last = {"asked": "issued", "asked_densities": "issued_densities"}.get(last, last)
            if last == "reached":
                upgraded[f"{inside}{dot}arrived"] = value[1]
        upgraded[f"{inside}{dot}{last}"] = value
    return upgraded


def old_algorithm_name(experiment: str, algorithm: str) -> str:
    """What `algorithm` of a registered experiment was called when folders were named after it."""
    names = TEACHERS if experiment == "pointmass-ppo" else ALGORITHMS if experiment in OURS else {}
    return next((old for old, new in names.items() if new == algorithm), algorithm)


def _algorithm(spec: dict[str, Any]) -> str:
    name = str(spec["algorithm"])
    if spec["experiment"] in OURS:
        return ALGORITHMS.get(name, name)
    return TEACHERS.get(name, name) if spec["experiment"] == "pointmass-ppo" else name


def _with_added_fields(value: Any) -> Any:
    """A configuration, with all that it holds, and the fields that it could not have yet."""
    if not isinstance(value, dict):
        return value
    parts = {name: _with_added_fields(part) for name, part in cast(dict[str, Any], value).items()}
    return {**ADDED.get(str(parts.get("type")), {}), **parts}


def _current(value: Any) -> Any:
    """A configuration of format 1, with all that it holds, in today's form."""
    if not isinstance(value, dict):
        return value
    parts: Plain = {name: _current(part) for name, part in cast(dict[str, Any], value).items()}
    translate = _TYPES.get(str(parts.get("type")))
    return parts if translate is None else translate(parts)


def _sprl(old: Plain) -> Plain:
    """SPRL had either a schedule, with two fields that only it looks at, or `ready`."""
    pacing = old.get("ready")
    if pacing is None:
        pacing = {
            "type": "Alpha",
            "schedule": old.get("schedule"),
            "variance_floor": old.get("variance_floor"),
            "policy_weights": old.get("policy_weights"),
        }
    gone = ("schedule", "ready", "variance_floor", "policy_weights")
    return {**{k: v for k, v in old.items() if k not in gone}, "pacing": pacing}


def _self_paced(old: Plain) -> Plain:
    """One teacher with a `form` was three teachers."""
    shared = {k: old[k] for k in ("epsilon", "update_every", "least_deviation", "until_kl")}
    by_reward = old["judged_by"] == "reward"
    if old["form"] == "threshold":
        own = {"judged_by": old["judged_by"], "threshold": old["bound"]}
        return {"type": "SelfPacedThreshold", **own, **shared}
    if old["form"] == "sprl":
        own = {"judged_by": old["judged_by"], "schedule": old["schedule"]}
        return {"type": "SelfPacedAlpha", **own, **shared}
    return {
        "type": "SelfPacedMastery",
        "rule": old["pace"],
        "reward_threshold": old["bound"] if by_reward else None,
        "update_every": old["update_every"],
    }


def _ppo(old: Plain) -> Plain:
    """All environments are registered by one module now, and two fields say what they are."""
    name = str(old["environment"])
    name = name.replace("selfpaced.deep.stepwise:", "selfpaced.deep.environments:")
    names = {"entropy": "entropy_weight", "max_gradient": "max_gradient_norm"}
    return {names.get(k, k): v for k, v in old.items()} | {"environment": name}


def _renamed(new_type: str, **names: str) -> Callable[[Plain], Plain]:
    """A translation that changes the type and the `names` of some fields."""

    def translate(old: Plain) -> Plain:
        return {names.get(k, k): v for k, v in old.items()} | {"type": new_type}

    return translate


_TYPES: dict[str, Callable[[Plain], Plain]] = {
    "SPRL": _sprl,
    "Ready": _renamed("Mastery", pace="rule", reward_bound="reward_threshold"),
    "Readiness": _renamed("MasteryRule", mastered="mastered_from", lost="lost_below"),
    "SelfPaced": _self_paced,
    "Target": _renamed("TargetTeacher"),
    "Uniform": _renamed("UniformTeacher"),
    "ADR": _renamed("ADR", first="first_width", high="grow_above", low="shrink_below"),
    "ALPGMM": _renamed("ALPGMM", uniform="uniform_share"),
    "PLR": _renamed("PLR", capacity="remembered", replay="replay_share", enough="replay_from"),
    "PPO": _ppo,
}
