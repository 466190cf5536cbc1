"""What the success rates of a lost run say, whatever its algorithm."""

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.store.finding import ARRIVED, HIGH_SUCCESS, RISING, STILL, Finding, column
from selfpaced.types import Record

HARDLY_ANY = 0.05  # success rate below which there is nothing to learn from
FEWEST = 6  # measurements on the target that are needed to say how success went
FEWEST_RECORDS = 20  # records that are needed to say it of a run that was never measured there


def course_of_success(records: list[Record], finished: bool) -> Finding | None:
    """What the success rates on the chosen contexts and on the target say."""
    measured = [record for record in records if not np.isnan(record.get("target_success", np.nan))]
    on_target, own = column(measured, "target_success"), column(records, "success")
    own = own[~np.isnan(own)]
    forgotten = None
    if len(on_target) >= FEWEST:
        forgotten = _forgotten(measured, on_target, "on the target")
    elif len(own) >= FEWEST_RECORDS:
        forgotten = _forgotten(records, own, "on its contexts")
    if forgotten is not None or not finished:
        return forgotten
    if len(on_target) < FEWEST and len(own) < FEWEST_RECORDS:
        return _unsolved(on_target)
    if (on_its_way := _on_its_way(records)) is not None:
        return on_its_way
    lately = float(own[-max(1, len(own) // 3) :].mean()) if own.size else np.nan
    third = len(on_target) // 3
    rate, before = 0.0, 0.0
    if len(on_target) >= FEWEST:
        rate = float(np.median(on_target[-third:]))
        before = float(np.median(on_target[-2 * third : -third]))
        if rate > before + RISING:
            return Finding(
                "unfinished",
                f"success on the target rose from {before:.0%} to {rate:.0%} in the last third",
                "more iterations",
            )
    if lately < HARDLY_ANY:
        return Finding(
            "too hard",
            f"in the last third {lately:.1%} of the rollouts on the chosen contexts succeeded: "
            "there is nothing to learn from",
            "contexts that can be solved: a curriculum that begins with them (SPRL(), "
            "SelfPacedMastery()), easier initial contexts, or a reward that grows before success",
        )
    if len(on_target) < FEWEST:
        return None
    if lately >= HIGH_SUCCESS and rate < lately / 2:
        return Finding(
            "elsewhere",
            f"in the last third {lately:.0%} of the rollouts on the chosen contexts succeeded, "
            f"but {rate:.0%} on the target",
            "a curriculum that goes to the target (SPRL(), SelfPacedMastery(), CurrOT()), or more "
            "iterations",
        )
    return Finding(
        "plateau",
        f"success on the target was {before:.0%} in the middle third and {rate:.0%} in the last",
        "more samples per update, a policy with more features, or another seed",
    )


def _unsolved(on_target: Array) -> Finding | None:
    """What can be said of a run with few records: that it has not solved the target."""
    if on_target.size == 0:
        return None
    return Finding(
        "unsolved",
        f"success on the target is {on_target[-1]:.0%}, and there are too few records to say why",
        "more iterations",
    )


def _on_its_way(records: list[Record]) -> Finding | None:
    """Contexts that still approached the target when the run ended."""
    kl = column(records, "kl_to_target")
    third = len(records) // 3
    if third < 3 or not kl[-third] > ARRIVED or not 1 - kl[-1] / kl[-third] > STILL:
        return None
    return Finding(
        "unfinished",
        f"the KL of the contexts to the target fell from {kl[-third]:.3g} to {kl[-1]:.3g} nats in "
        "the last third, and then the run ended",
        "more iterations",
    )


def _forgotten(records: list[Record], rates: Array, where: str) -> Finding | None:
    """A success rate that was high and is not any more; a mean of three measurements counts."""
    smooth = np.convolve(rates, np.ones(3) / 3, "valid")
    best = int(smooth.argmax())
    if smooth[best] < HIGH_SUCCESS or smooth[-1] > smooth[best] / 2:
        return None
    iteration = records[best + 1].get("iteration", best + 1)
    return Finding(
        "forgotten",
        f"{smooth[best]:.0%} succeeded {where} around iteration {iteration}, and "
        f"{smooth[-1]:.0%} at the end",
        "smaller updates of the policy (epsilon, a lower learning rate, PPO's target_kl), and a "
        "curriculum that goes back when success is lost (retreats=True)",
    )
