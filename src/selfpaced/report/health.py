"""What ails a run, in words: with the number that shows it, and what to try."""

from typing import NamedTuple

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.readiness import MOVES
from selfpaced.packed import lasting
from selfpaced.training import Record

SOLVED = 0.8  # success on the target above which nothing ails a run
ARRIVED = 1.0  # KL to the target, in nats, below which contexts are there
HIGH_SUCCESS = 0.5  # on the current contexts
STILL = 0.1  # relative fall of the KL over the last third that counts as none
FEW = 10.0  # effective samples
NARROW = 1e-3  # of the first deviation
FEW_MOVES = 3  # at least so many, to say what moving does
SHOWN_SEEDS = 8  # by number, in a summary
LOST = 0.15  # success that a move costs
ON = MOVES.index("on")
RISING = 0.05  # of what is mastered, from one third of a run to the next


class Finding(NamedTuple):
    """One thing that is wrong."""

    kind: str  # stalled, collapsed, starved, unreachable
    shown_by: str
    to_try: str


def summarised(found: list[tuple[int, Finding]]) -> list[tuple[str, Finding]]:
    """Findings of many seeds by kind: who has it, and the first one's numbers."""
    kinds: dict[str, list[tuple[int, Finding]]] = {}
    for seed, finding in found:
        kinds.setdefault(finding.kind, []).append((seed, finding))
    summary: list[tuple[str, Finding]] = []
    for members in kinds.values():
        seed, first = members[0]
        seeds = ", ".join(str(s) for s, _ in members[:SHOWN_SEEDS])
        rest = f" and {len(members) - SHOWN_SEEDS} more" if len(members) > SHOWN_SEEDS else ""
        who = f"seed {seed}" if len(members) == 1 else f"seeds {seeds}{rest}; of seed {seed}"
        summary.append((who, first))
    return summary


def findings(records: list[Record], dimension: int | None) -> list[Finding]:
    """What ails a run with these `records` of a policy over `dimension` parameters, if known.

    Nothing if it does well on the target. Looked at are only the records that packed results keep
    as well, so that these and the store they come from say the same.
    """
    records = lasting(records)
    if not records or _last(records, "target_success") >= SOLVED:
        return []
    found = (
        _stalled(records),
        _collapsed(records, dimension) or _narrow(records),
        _starved(records),
        _unreachable(records),
    )
    return [finding for finding in found if finding is not None]


def _column(records: list[Record], name: str) -> Array:
    return np.array([record.get(name, np.nan) for record in records], dtype=float)


def _last(records: list[Record], name: str) -> float:
    values = _column(records, name)
    known = values[~np.isnan(values)]
    return float(known[-1]) if known.size else float("nan")


def _stalled(records: list[Record]) -> Finding | None:
    if "move" in records[-1]:
        return None  # contexts that move only when mastered do not stall: see `_not_mastered`
    kl, success = _column(records, "kl_to_target"), _column(records, "success")
    third = len(records) // 3
    if third < 3 or np.isnan(kl[-third:]).any() or kl[-1] < ARRIVED:
        return None
    if np.isnan(success[-third:]).all():  # the task has no notion of success
        return None
    fall = 1 - kl[-1] / max(kl[-third], 1e-12)
    rate = float(np.nanmedian(success[-third:]))
    if fall > STILL or not rate >= HIGH_SUCCESS:
        return None
    return Finding(
        "stalled",
        f"the KL to the target fell from {kl[-third]:.3g} to {kl[-1]:.3g} in the last third, "
        f"while {rate:.0%} of the rollouts on the current contexts succeeded",
        "a larger weight of the target (zeta or alpha_max), or a higher variance floor",
    )


def _collapsed(records: list[Record], dimension: int | None) -> Finding | None:
    entropy = _column(records, "entropy")
    success = _column(records, "success")
    if dimension is None or len(records) < 10 or np.isnan(entropy[[0, -1]]).any():
        return None
    width = float(np.exp((entropy[-1] - entropy[0]) / dimension))
    lately = success[-max(3, len(records) // 10) :]
    if np.isnan(lately).all():
        return None
    recent = float(np.nanmean(lately))
    if width > NARROW or recent >= HIGH_SUCCESS:
        return None
    return Finding(
        "collapsed",
        f"the policy's deviations are {width:.1g} of what they were, and {recent:.0%} of the "
        "rollouts succeed: it can no longer find anything better",
        "a smaller epsilon, more samples per update, or, of SPRL, a lower bound on the entropy "
        "(min_entropy)",
    )


def _narrow(records: list[Record]) -> Finding | None:
    raised = _column(records, "variance_raised")
    kl = _column(records, "kl_to_target")
    third = max(3, len(records) // 3)
    share = float(np.mean(raised[-third:] > 0))
    if share < 0.5 or not kl[-1] > ARRIVED:
        return None
    return Finding(
        "collapsed",
        f"the contexts' variance sat on its floor in {share:.0%} of the last iterations, "
        f"{kl[-1]:.3g} nats from the target",
        "a higher variance floor, or a larger weight of the target (zeta)",
    )


def _starved(records: list[Record]) -> Finding | None:
    for name, of in (("ess_policy", "policy"), ("ess_contexts", "contexts")):
        values = _column(records, name)
        values = values[~np.isnan(values)]
        if values.size and np.median(values) < FEW:
            return Finding(
                "starved",
                f"half of the updates of the {of} that were looked at rest on fewer than "
                f"{np.median(values):.1f} effective samples",
                "more samples per update (n_samples), a longer buffer (buffer_size), or a "
                "smaller epsilon",
            )
    return None


def _unreachable(records: list[Record]) -> Finding | None:
    kl, success = _column(records, "kl_to_target"), _column(records, "success")
    if "move" in records[-1]:
        return _not_mastered(records)
    if np.isnan(kl).all() or kl[-1] < ARRIVED:
        return None
    steps = np.flatnonzero(np.diff(kl) < -0.05 * kl[:-1])
    changes = success[steps + 1] - success[steps]
    changes = changes[~np.isnan(changes)]
    if len(changes) < FEW_MOVES or np.median(changes) > -LOST:
        return None
    return Finding(
        "unreachable",
        f"success fell by {-np.median(changes):.0%} when the contexts moved "
        f"({len(changes)} moves), still {kl[-1]:.3g} nats from the target",
        "smaller steps (epsilon), or contexts between here and the target that can be solved",
    )


def _not_mastered(records: list[Record]) -> Finding | None:
    """Of contexts that move on when they are mastered: whether they, or it, still come nearer."""
    third = len(records) // 3
    kl, able = _column(records, "kl_to_target"), _column(records, "able")
    if third < 3 or np.isnan(able).any():
        return None
    lately, before = able[-third:], able[-2 * third : -third]
    if np.median(lately) > np.median(before) + RISING:
        return None  # it is getting better where it is
    success = _column(records, "success")
    flags = not np.isnan(success).all()
    if not flags and kl[-1] < ARRIVED and np.median(_column(records, "move")[-third:]) == ON:
        return None  # there, and by its rewards the target is mastered
    bound = "" if flags else "; without successes, Ready(reward_bound=...), or a lower one"
    nearest = kl[: len(kl) - third].min()
    rate = f"{np.median(lately):.0%}"
    judged = flags and np.allclose(able, success, equal_nan=True)  # and not by a reward_bound
    share = f"{rate} succeeded there" if judged else f"{rate} was mastered there, by its rewards"
    to_try = "a target that can be solved, more samples per update (n_samples), or more iterations"
    if not (_column(records, "move") > 0).any():
        return Finding(
            "unreachable",
            f"nothing is mastered yet: in the last third {share}, and the rule waits for more",
            "easier initial contexts, more samples per update (n_samples), a reward that says "
            f"more{bound}",
        )
    if kl[-1] < ARRIVED:
        return Finding(
            "unreachable",
            f"the contexts are at the target, and in the last third {share}",
            f"{to_try}{bound}",
        )
    if 1 - kl[-third:].min() / max(nearest, 1e-12) > STILL:
        return None
    return Finding(
        "unreachable",
        f"the contexts came no nearer to the target than {kl.min():.3g} nats, and in the last "
        f"third {share}",
        f"{to_try}{bound}",
    )
