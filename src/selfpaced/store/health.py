"""What is wrong with a run that fails on the target: how it shows, and what to try.

The kinds of trouble are listed in `Finding`.
"""

from collections.abc import Sequence

import numpy as np

from selfpaced.maths.mastery_rule import MOVES
from selfpaced.store.finding import ARRIVED, HIGH_SUCCESS, RISING, STILL, Finding, column
from selfpaced.store.packed import records_always_kept
from selfpaced.store.success_course import course_of_success
from selfpaced.types import Record

SOLVED = 0.8  # success rate on the target from which a run has no findings
MORE_SAMPLES = "more samples per update (n_samples, buffer_size)"  # a cure
FEW = 10.0  # effective samples below which an update has too few
NARROW = 1e-3  # share of the first standard deviation below which a policy counts as collapsed
FEW_MOVES = 3  # moves of the contexts that are needed to judge what moving costs
SHOWN_SEEDS = 8  # seeds that a summary names
LOST = 0.15  # success rate that a move costs if the target is out of reach
ON = MOVES.index("on")
RARELY = 0.2  # share of moves towards the target, in the last third, below which a run is stuck
FEW_MEASURED = 5  # measurements that are needed to say that a curriculum was not needed
AGREE = 0.05  # largest mean difference of two rates that count as the same
NO_EASIER = 0.05  # success rate by which contexts must be easier than the target to be a help


def summarised(found: list[tuple[int, Finding]]) -> list[tuple[str, Finding]]:
    """The pairs (seed, finding) by kind: which seeds have it, in words, and the first finding."""
    kinds: dict[str, list[tuple[int, Finding]]] = {}
    for seed, finding in found:
        kinds.setdefault(finding.kind, []).append((seed, finding))
    summary: list[tuple[str, Finding]] = []
    for members in kinds.values():
        seed, first = members[0]
        who = seeds_in_words([seed for seed, _ in members])
        summary.append((who if len(members) == 1 else f"{who}; for seed {seed}", first))
    return summary


def seeds_in_words(seeds: Sequence[int]) -> str:
    """Such as "seed 3" or "seeds 0, 1, 2"; of many seeds the first ones and how many follow."""
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    rest = f" and {len(seeds) - SHOWN_SEEDS} more" if len(seeds) > SHOWN_SEEDS else ""
    return f"seeds {', '.join(map(str, seeds[:SHOWN_SEEDS]))}{rest}"


def findings(
    records: list[Record], dimension: int | None, *, finished: bool = True
) -> list[Finding]:
    """What is wrong with a run that has these `records`; nothing if it succeeds on the target.

    `dimension` is the number of parameters that the policy draws, if known; 0 for discrete actions,
    which have no standard deviation. A run that is not
    `finished` may still succeed, so less is said of it. Only the records that packed results keep
    are looked at, so that a store and its packed file have equal findings; of a run that was never
    measured on the target, all.
    """
    if any("target_reward" in record for record in records):
        records = records_always_kept(records)
    if not records or _last(records, "target_success") >= SOLVED:
        return []
    found = (
        _stalled(records),
        _collapsed(records, dimension) or _narrow(records),
        _starved(records),
        _unreachable(records),
    )
    known = [finding for finding in found if finding is not None]
    if not known and (finding := course_of_success(records, finished)) is not None:
        known = [finding]
    return known or _by_rewards(records)


def as_easy(records: list[Record]) -> Finding | None:
    """A finding that says that a curriculum was not needed; None if it was, or if nobody knows.

    That is so if the target was solved while the contexts were still away from it, and if, until
    then, the policy succeeded about as often on the target as on the contexts.
    """
    records = records_always_kept(records)
    names = ("kl_to_target", "success", "target_success")
    kl, success, on_target = (column(records, name) for name in names)
    measured = np.flatnonzero((kl > ARRIVED) & ~np.isnan(success) & ~np.isnan(on_target))
    solved = measured[on_target[measured] >= SOLVED]
    if not solved.size:
        return None
    until = measured[measured <= solved[0]]
    gap = float(np.mean(success[until] - on_target[until]))
    if len(until) < FEW_MEASURED or on_target[until[0]] >= SOLVED or gap > NO_EASIER:
        return None
    k = int(solved[0])
    return Finding(
        "unneeded",
        f"the target was solved at iteration {records[k].get('iteration', k)}, while the contexts "
        f"were still {kl[k]:.3g} nats away from it, and until then {np.mean(success[until]):.0%} "
        f"of the rollouts succeeded on the contexts and {np.mean(on_target[until]):.0%} on the "
        "target: the contexts are as hard as the target",
        "training on the target alone, or contexts in which something is easier",
    )


def _last(records: list[Record], name: str) -> float:
    """The last known value of the metric `name`; nan if there is none."""
    values = column(records, name)
    known = values[~np.isnan(values)]
    return float(known[-1]) if known.size else float("nan")


def _stalled(records: list[Record]) -> Finding | None:
    """Contexts that stay far from the target although most rollouts on them succeed."""
    if "move" in records[-1]:
        return None  # the mastery rule moves contexts that succeed: see `_not_mastered`
    kl, success = column(records, "kl_to_target"), column(records, "success")
    third = len(records) // 3
    if third < 3 or np.isnan(kl[-third:]).any() or kl[-1] < ARRIVED:
        return None
    if np.isnan(success[-third:]).all():  # the task defines no success
        return None
    fall = 1 - kl[-1] / max(kl[-third], 1e-12)
    rate = float(np.nanmedian(success[-third:]))
    if fall > STILL or not rate >= HIGH_SUCCESS:
        return None
    return Finding(
        "stalled",
        f"the KL to the target went from {kl[-third]:.3g} to {kl[-1]:.3g} in the last third, "
        f"while {rate:.0%} of the rollouts on the current contexts succeeded",
        "a larger zeta or alpha_max, which weigh the target more, or a higher variance floor"
        if "alpha" in records[-1]
        else "a lower threshold, above which the teacher moves on, or larger steps (epsilon)",
    )


def _collapsed(records: list[Record], dimension: int | None) -> Finding | None:
    """A policy that has become narrow without succeeding."""
    entropy = column(records, "entropy")
    success = column(records, "success")
    if not dimension or len(records) < 10 or np.isnan(entropy[[0, -1]]).any():
        return None  # a policy of discrete actions has no standard deviations
    width = float(np.exp((entropy[-1] - entropy[0]) / dimension))
    lately = success[-max(3, len(records) // 10) :]
    if np.isnan(lately).all():
        return None
    recent = float(np.nanmean(lately))
    if width > NARROW or recent >= HIGH_SUCCESS:
        return None
    return Finding(
        "collapsed",
        f"the policy's standard deviations are {width:.1g} of the initial ones, and "
        f"{recent:.0%} of the rollouts succeed: it can no longer find anything better",
        "a smaller epsilon, more samples per update, or, with SPRL, a lower bound on the entropy "
        "(min_entropy)",
    )


def _narrow(records: list[Record]) -> Finding | None:
    """Contexts that are held at their least variance, far from the target."""
    raised = column(records, "variance_raised")
    kl = column(records, "kl_to_target")
    third = max(3, len(records) // 3)
    share = float(np.mean(raised[-third:] > 0))
    if share < 0.5 or not kl[-1] > ARRIVED:
        return None
    return Finding(
        "collapsed",
        f"the contexts' variance sat on its floor in {share:.0%} of the last iterations, "
        f"{kl[-1]:.3g} nats from the target",
        "a higher variance floor, or a larger zeta, which weighs the target more",
    )


def _starved(records: list[Record]) -> Finding | None:
    """Updates that rest on too few effective samples."""
    for name, of in (("ess_policy", "policy"), ("ess_contexts", "contexts")):
        values = column(records, name)
        values = values[~np.isnan(values)]
        if values.size and np.median(values) < FEW:
            return Finding(
                "starved",
                f"half of the checked updates of the {of} use fewer than "
                f"{np.median(values):.1f} effective samples",
                f"{MORE_SAMPLES}, or a smaller epsilon",
            )
    return None


def _unreachable(records: list[Record]) -> Finding | None:
    """Success that is lost whenever the contexts move, or contexts that are not mastered."""
    kl, success = column(records, "kl_to_target"), column(records, "success")
    if "move" in records[-1]:
        finding = _not_mastered(records)
        return finding and finding._replace(shown_by=finding.shown_by + _attempts(records))
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
    """With the mastery rule: contexts that are not mastered, without progress in the last third."""
    third = len(records) // 3
    kl, mastered = column(records, "kl_to_target"), column(records, "mastered")
    if third < 3 or np.isnan(mastered).any():
        return None
    lately, before = mastered[-third:], mastered[-2 * third : -third]
    if np.median(lately) > np.median(before) + RISING:
        return None  # the policy still improves on its contexts
    success = column(records, "success")
    flags = not np.isnan(success).all()
    if not flags and kl[-1] < ARRIVED and np.median(column(records, "move")[-third:]) == ON:
        return None  # at the target, which is mastered by its rewards
    threshold = (
        ""
        if flags
        else "; if the task reports no successes, set or lower Mastery(reward_threshold=...)"
    )
    nearest = kl[: len(kl) - third].min()
    rate = f"{np.median(lately):.0%}"
    # With a reward_threshold, what is mastered differs from what succeeds. Without one they agree
    # in the mean: of batches below 50 rollouts, what is mastered is the success rate of several.
    judged = flags and abs(np.nanmean(mastered - success)) < AGREE
    share = f"{rate} succeeded there" if judged else f"{rate} was mastered there, by its rewards"
    to_try = f"a target that can be solved, {MORE_SAMPLES}, or more iterations"
    if not (column(records, "move") > 0).any():
        return Finding(
            "unreachable",
            f"nothing is mastered yet: in the last third {share}, and the rule waits for more",
            f"{MORE_SAMPLES}, easier initial contexts, a reward that grows before success"
            f"{threshold}",
        )
    if kl[-1] < ARRIVED:
        return Finding(
            "unreachable",
            f"the contexts are at the target, and in the last third {share}",
            f"{to_try}{threshold}",
        )
    if 1 - kl[-third:].min() / max(nearest, 1e-12) > STILL:
        return _stuck(records, third, share)
    return Finding(
        "unreachable",
        f"the contexts came no nearer to the target than {kl.min():.3g} nats, and in the last "
        f"third {share}",
        f"{to_try}{threshold}",
    )


def _by_rewards(records: list[Record]) -> list[Finding]:
    """That contexts moved by rewards alone, which looks the same in a local optimum."""
    if not records[-1].get("by_rewards"):
        return []
    return [
        Finding(
            "by rewards",
            "the task reports no successes, so contexts move on when the mean reward is near the "
            "best rewards seen; in a local optimum it is, too",
            "successes from the task or, if you know which reward is good enough, "
            "SPRL(pacing=Mastery(reward_threshold=...))",
        )
    ]


def _attempts(records: list[Record]) -> str:
    """The end of a sentence that says when learning began anew; empty if it never did."""
    attempts = column(records, "attempt")
    first = [int(np.argmax(attempts >= k)) for k in range(2, int(np.nan_to_num(attempts[-1])) + 1)]
    if not first:
        return ""
    when = " and ".join(str(records[k].get("iteration", k)) for k in first)
    return f"; learning began anew before iteration {when}"


def _stuck(records: list[Record], third: int, share: str) -> Finding | None:
    """Contexts that still move, but hardly ever, while what is mastered does not rise."""
    moves, kl = column(records, "move"), column(records, "kl_to_target")
    if np.mean(moves[-third:] == ON) > RARELY:
        return None
    entropy = column(records, "entropy")
    often = np.convolve(moves == ON, np.ones(third), "valid") / third > RARELY
    since = int(np.flatnonzero(often)[-1]) + third if often.any() else 0
    iteration = records[min(since, len(records) - 1)].get("iteration", since)
    return Finding(
        "stuck",
        f"since iteration {iteration} hardly any contexts are mastered: in the last third {share}, "
        f"{kl[-1]:.3g} nats from the target, while the policy's entropy went from "
        f"{entropy[-third]:.3g} to {entropy[-1]:.3g} nats",
        f"{MORE_SAMPLES}, easier initial contexts, or another seed; a policy "
        "that narrows without succeeding more often has committed to a way that closes",
    )
