"""Where the values in the configurations of published experiments come from."""

from collections.abc import Iterator
from typing import Any

from selfpaced.experiments import EXPERIMENTS
from selfpaced.store.files import plain

PAPERS = frozenset(
    {
        *("gate-precision", "gate-global", "reacher", "reacher-easy", "ball-in-a-cup"),
        *("pointmass-spdl", "pointmass-spdl-3d", "pointmass-currot", "maze-currot"),
    }
)
TABLE_1 = "paper, Table 1"
TABLE_2 = "paper, Table 2"
EXCHANGED = "paper, Table 2, columns exchanged"
APPENDIX = "paper, appendix"
PROGRAM = "the authors' program"
BUDGET = "as many rollouts as SPRL has"
OURS = "ours; docs/reproduction.md"
BEYOND = "ours; docs/beyond-the-paper.md"
BENCHMARKS = "ours; docs/benchmarks.md"

SOURCES = {  # by the class of the configuration, and the name of the field
    "SPRL": {
        "epsilon": TABLE_1,
        "n_samples": TABLE_1,
        "buffer_size": TABLE_1,
        "ridge": OURS,
    },
    "Alpha": {"policy_weights": "Algorithm 1 as printed"},
    "FractionOfReward": {"zeta": TABLE_1, "k_alpha": TABLE_1, "alpha_max": PROGRAM},
    "VarianceFloor": {"variance": APPENDIX, "until_kl": APPENDIX},
    "CREPS": {
        "epsilon": TABLE_1,
        "n_samples": TABLE_1,
        "buffer_size": TABLE_1,
        "ridge": OURS,
        "temperature_floor": OURS,
    },
    "GoalGAN": {
        "noise": TABLE_2,
        "train_every": TABLE_2,
        "steps": PROGRAM,
        "first_steps": PROGRAM,
    },
    "SaggRiac": {"split_at": EXCHANGED, "window": EXCHANGED},
    "CMAES": {"n_samples": BUDGET, "buffer_size": BUDGET, "population": "pycma's default"},
    "PPO": {
        **dict.fromkeys(("environments", "steps", "minibatches", "epochs"), APPENDIX),
        **dict.fromkeys(("hidden", "gamma", "gae_lambda", "entropy_weight"), APPENDIX),
        **dict.fromkeys(("learning_rate", "clip", "value_weight", "max_gradient_norm"), PROGRAM),
        "n_samples": BUDGET,
        "buffer_size": BUDGET,
    },
    "StepwisePPO": {
        **dict.fromkeys(("minibatches", "epochs", "hidden", "gamma", "gae_lambda"), PROGRAM),
        **dict.fromkeys(("entropy_weight", "learning_rate", "clip", "value_weight"), PROGRAM),
        **dict.fromkeys(("max_gradient_norm", "normalise"), PROGRAM),
        # Together they are the authors' number of steps per update, in one environment.
        **dict.fromkeys(
            ("environments", "steps"),
            "the authors' program has one environment; docs/benchmarks.md",
        ),
        **dict.fromkeys(("target_kl", "adapts_rate", "averaged_updates"), BENCHMARKS),
    },
    "StepwiseSAC": {
        **dict.fromkeys(("hidden", "gamma", "learning_rate", "buffer_size"), PROGRAM),
        **dict.fromkeys(("random_steps", "batch_size", "steps"), PROGRAM),
        "environments": "the authors' program has one environment; docs/benchmarks.md",
    },
    "SelfPacedThreshold": {
        **dict.fromkeys(("threshold", "epsilon", "least_deviation", "until_kl"), PROGRAM),
        "update_every": f"{PROGRAM}, in which it is one update of the learner",
        "retreats": BENCHMARKS,
    },
    "CurrOT": {
        **dict.fromkeys(("threshold", "radius", "particles", "update_every"), PROGRAM),
        **dict.fromkeys(("remembered", "bandwidth", "candidates", "retreats"), BENCHMARKS),
    },
    "ALPGMM": {
        **dict.fromkeys(("uniform_share", "fit_every", "remembered"), PROGRAM),
        "components": "Portelas et al. (2019)",
    },
}
EXCEPTIONS = {  # by experiment, algorithm and dotted path of the field
    **{
        ("maze-currot", "alpgmm", f"teacher.{name}"): "default of this library"
        for name in ("uniform_share", "fit_every", "remembered")
    },
    ("ball-in-a-cup", "goalgan", "buffer_size"): f"{PROGRAM}; 5 for C-REPS in Table 1",
    ("gate-precision", "goalgan", "teacher.train_every"): f"{TABLE_2}; 3 in {PROGRAM}",
}


def source_of(experiment: str, algorithm: str, path: str, value: Any) -> str:
    """The source of the value at the dotted `path` of an algorithm's configuration; "" if unknown.

    `value` is what a run had. If the experiment has another value, that of the run was set by hand.
    """
    if experiment not in PAPERS or algorithm not in EXPERIMENTS[experiment].algorithms:
        return ""
    usual = dict(flat(plain(EXPERIMENTS[experiment].algorithms[algorithm])))
    if path not in usual:
        return ""
    if usual[path] != value:
        return f"set by hand (usually {usual[path]})"
    if algorithm == "sprl-mastery":
        return BEYOND
    inside, dot, name = path.rpartition(".")
    kind = usual.get(f"{inside}{dot}type", "")
    return EXCEPTIONS.get((experiment, algorithm, path)) or SOURCES.get(kind, {}).get(name, "")


def flat(config: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted paths and values of all fields of a nested configuration, as `plain` makes it."""
    for name, value in config.items():
        where = f"{path}.{name}" if path else str(name)
        if isinstance(value, dict):
            yield from flat(value, where)
        else:
            yield where, value
