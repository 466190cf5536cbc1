"""The table of finished runs as rows: plain values for programs, text for people."""

from typing import Any

import numpy as np

from selfpaced.report.data import Group, quantiles
from selfpaced.store.reading import StoredRun


def row(group: Group) -> dict[str, Any]:
    """One line of the table: medians, and 10% and 90% quantiles (q10, q90) over the seeds.

    Iterations to a success rate are infinite where it was never reached, and nan where a run was
    measured at its end only.
    """
    success, reward = quantiles(group.success), quantiles(group.reward)
    return {
        "experiment": group.experiment,
        "algorithm": group.algorithm,
        "seeds": len(group.runs),
        "success_median": float(success[1]),
        "success_q10": float(success[0]),
        "success_q90": float(success[2]),
        "success_min": float(group.success.min()),
        "reward_median": float(reward[1]),
        "reward_q10": float(reward[0]),
        "reward_q90": float(reward[2]),
        "success_at_mean_median": float(np.median(group.success_at_mean)),
        "reward_at_mean_median": float(np.median(group.reward_at_mean)),
        **{
            f"rescored_{name}_success_median": float(np.median(rates))
            for name, rates in group.rescored_success.items()
        },
        "iterations_to_50": float(quantiles(group.iterations_to(0.5))[1]),
        "iterations_to_90": float(quantiles(group.iterations_to(0.9))[1]),
        "rollouts": float(np.median(group.rollouts)),
        "measuring_rollouts": float(np.median([_measuring(run) for run in group.runs])),
        "cpu_seconds": float(np.median([run.cpu_seconds for run in group.runs])),
    }


# Short enough for a terminal of 80 columns; CAPTION says what they mean.
HEADERS = (
    *("algorithm", "n", "success", "worst", "rescored", "reward", "at mean", "50%", "90%"),
    *("rollouts", "measuring", "CPU s"),
)
DROPPED_FIRST = (
    "measuring",
    "rollouts",
    "at mean",
    "CPU s",
)  # left out in this order if the terminal is too narrow
DROPPED_EMPTY = ("rescored",)  # left out where no run has a value
CAPTION = (
    "n: seeds; success and reward on the target: median [10%, 90%]; "
    "worst: lowest success of a seed; "
    "rescored: median success in each of the problem's final_tasks, such as a finer simulation; "
    "at mean: success and reward at the target's mean; 50%, 90%: iterations to that success; "
    "measuring: rollouts on the target and at its mean, besides those of learning; -: not known"
)


def text_row(group: Group) -> tuple[str, ...]:
    """`row` as text: median [10%, 90%], "never" for infinity and "-" where nothing is known."""
    r = row(group)
    decimals = _decimals(max(abs(r[f"reward_{q}"]) for q in ("median", "q10", "q90")))
    return (
        r["algorithm"],
        str(r["seeds"]),
        _band(r, "success", "{:.2f}"),
        _number(r["success_min"], "{:.2f}"),
        ", ".join(
            f"{name} {_number(r[f'rescored_{name}_success_median'], '{:.2f}')}"
            for name in group.rescored_success
        )
        or "-",
        _band(r, "reward", f"{{:.{decimals}f}}"),
        _at_mean(r, decimals),
        _iterations(r["iterations_to_50"], r["success_median"]),
        _iterations(r["iterations_to_90"], r["success_median"]),
        f"{r['rollouts']:,.0f}",
        _number(r["measuring_rollouts"], "{:,.0f}"),
        _number(r["cpu_seconds"], "{:.1f}"),
    )


def _measuring(run: StoredRun) -> float:
    """Rollouts of a run's measurements; nan if its spec does not say how it was measured."""
    problem: dict[str, Any] = run.spec.get("problem", {})
    if "measure" not in problem:
        return np.nan
    every, rollouts, final = problem["measure"]
    last = 3 * final if "final_task" in problem else 2 * final
    return int(run.result["iterations"]) // every * rollouts + last


def _at_mean(r: dict[str, Any], decimals: int) -> str:
    """Success and reward at the target's mean, as far as they are known."""
    if np.isnan(r["reward_at_mean_median"]):
        return _number(r["success_at_mean_median"], "{:.2f}")
    reward = f"{r['reward_at_mean_median']:.{decimals}f}"
    return _number(r["success_at_mean_median"], "{:.2f}") + f" {reward}"


def _number(value: float, form: str) -> str:
    return "-" if np.isnan(value) else form.format(value)


def _band(r: dict[str, Any], name: str, form: str) -> str:
    if np.isnan(r[f"{name}_median"]):
        return "-"
    middle, low, high = (form.format(r[f"{name}_{q}"]) for q in ("median", "q10", "q90"))
    return f"{middle} [{low}, {high}]"


def _decimals(largest: float) -> int:
    """Decimals of rewards: one, or as many as show two digits where all rewards are below 0.1."""
    if not 0.0 < largest < 0.1:
        return 1
    return min(2 - int(np.ceil(np.log10(largest))), 9)


def _iterations(value: float, success: float) -> str:
    if np.isnan(success) or np.isnan(value):
        return "-"
    return "never" if np.isinf(value) else f"{value:.0f}"
