"""The pictures of docs/ideas.md, docs/stuck.md and the README's strip.

They are drawn from the packed results and from the functions that they explain:

    python -m docs.tools.draw_ideas
"""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

import selfpaced
from selfpaced.maths.mastery_rule import MOVES
from selfpaced.maths.reps import soft_max, sprl_dual, temperature
from selfpaced.store.health import as_easy, findings

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
BLUE, ORANGE, RED, GREY = "#0072b2", "#e69f00", "#d55e00", "0.5"
STORED = selfpaced.load(ROOT / "results" / "gate-precision.packed")["gate-precision"]
TARGET = selfpaced.experiment("gate-precision").built_problem().target


def tidy(axes):
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def save(figure, name):
    path = IMAGES / name
    path.parent.mkdir(exist_ok=True)
    metadata = {"Date": None} if path.suffix == ".svg" else {}
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(path, dpi=110, metadata=metadata)


def new(width, height, columns=1):
    figure = Figure(figsize=(width, height), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, columns))
    for axes in panels:
        tidy(axes)
    return figure, panels


def outline(axes, mean, covariance, **style):
    """The ellipse that holds 86% of a Gaussian: two standard deviations."""
    values, vectors = np.linalg.eigh(covariance)
    angle = np.degrees(np.arctan2(*vectors[::-1, 1]))
    axes.add_patch(Ellipse(mean, *(4 * np.sqrt(values))[::-1], angle=angle, fill=False, **style))


def column(run, name):
    rows = [(r["iteration"], r[name]) for r in run.records if name in r]
    return np.array(rows, dtype=float).T


def moving_contexts():
    """Where SPRL practises, at five iterations."""
    shown = [r for r in STORED["sprl"].runs[0].records if r["iteration"] in (20, 80, 130, 210, 320)]
    figure, panels = new(11, 2.6, len(shown))
    for axes, record in zip(panels, shown, strict=True):
        outline(axes, record["context_mean"], record["context_covariance"], color=BLUE, linewidth=2)
        outline(axes, TARGET.mean, TARGET.covariance, color=RED, linewidth=2)
        axes.set(xlim=(-6, 6), ylim=(0.05, 0.5), title=f"iteration {record['iteration']}")
        axes.set_xlabel("position of the gate")
    panels[0].set_ylabel("half-width of the gate")
    save(figure, "ideas/contexts.svg")


def no_signal():
    """How many rollouts succeed in practice and on the target, with and without a curriculum."""
    figure, panels = new(9, 3, 2)
    metrics = {"success": "success in practice", "target_success": "success on the target"}
    labels = {"sprl": "SPRL", "creps": "C-REPS on the target"}
    for axes, (metric, label) in zip(panels, metrics.items(), strict=True):
        for name, colour in (("sprl", BLUE), ("creps", RED)):
            iterations, values = STORED[name].curve(metric)
            axes.plot(iterations, values.T, color=colour, alpha=0.25, linewidth=0.8)
            middle = np.median(values, axis=0)
            axes.plot(iterations, middle, color=colour, linewidth=2.2, label=labels[name])
        axes.set(xlabel="iteration", ylabel=label, ylim=(-0.03, 1.03))
    panels[0].legend(frameon=False)
    save(figure, "ideas/no-signal.svg")


def dual():
    """The dual over its two temperatures, and the weights of the samples at its minimum."""
    rng, n, epsilon, alpha = np.random.default_rng(1), 200, 0.4, 0.3
    contexts = rng.normal(size=n)
    rewards = np.exp(-((contexts - 0.5) ** 2)) + 0.3 * rng.normal(size=n)
    log_ratio = -0.5 * (contexts - 1.5) ** 2 / 0.25 + 0.5 * contexts**2
    found = sprl_dual(rewards, log_ratio, np.ones((n, 1)), alpha=alpha, epsilon=epsilon, ridge=0.0)
    grid = np.geomspace(0.02, 3.0, 60)
    value = np.array([[found(np.array([p, m, 0.0])).value for p in grid] for m in grid])
    row, best = np.unravel_index(value.argmin(), value.shape)
    figure, (left, right) = new(9, 3.2, 2)
    levels = value.min() + np.geomspace(1e-3, 3.0, 14)
    left.contour(grid, grid, value, levels=levels, linewidths=0.9)
    left.plot(grid[best], grid[row], "r*", markersize=13)
    left.set(xscale="log", yscale="log", xlabel="temperature of the policy, eta_p")
    left.set(ylabel="temperature of the contexts, eta_mu", title="the dual G; star: its minimum")
    eta = temperature(rewards, epsilon)
    for factor, colour in ((0.4, RED), (1.0, BLUE), (4.0, GREY)):
        weights = soft_max(rewards, eta * factor).weights
        order = np.argsort(rewards)
        label = f"eta = {eta * factor:.2g}"
        right.plot(rewards[order], weights[order] * n, color=colour, label=label)
    right.set(xlabel="reward", ylabel="weight of a sample, times n", title="softmax weights")
    right.legend(frameon=False)
    save(figure, "ideas/dual.svg")


def schedule():
    """alpha and the KL to the target, in one run."""
    run = STORED["sprl"].runs[0]
    figure, (left, right) = new(9, 2.8, 2)
    left.plot(*column(run, "alpha"), color=ORANGE)
    left.set(xlabel="iteration", ylabel="alpha")
    right.plot(*column(run, "kl_to_target"), color=BLUE, label="KL to the target (nats)")
    right.set(xlabel="iteration", ylabel="KL to the target (nats)", yscale="log")
    save(figure, "ideas/schedule.svg")


def mastery():
    """What the mastery rule sees and does, in one run."""
    run = STORED["sprl-mastery"].runs[0]
    figure, (left, right) = new(9, 2.8, 2)
    iterations, mastered = column(run, "mastered")
    moves = column(run, "move")[1]
    names = {0: ("search", GREY), 1: ("on", BLUE), 2: ("stay", ORANGE), 3: ("back", RED)}
    for move, (name, colour) in names.items():
        chosen = moves == move
        left.plot(iterations[chosen], mastered[chosen], "o", color=colour, markersize=4, label=name)
    for bound in (0.35, 0.7):
        left.axhline(bound, color="0.3", linewidth=0.8, linestyle="--")
    left.set(xlabel="iteration", ylabel="share that succeeds, s", ylim=(-0.03, 1.03))
    left.legend(frameon=False)
    right.plot(*column(run, "kl_to_target"), color=BLUE)
    right.set(xlabel="iteration", ylabel="KL to the target (nats)", yscale="symlog")
    save(figure, "ideas/mastery.svg")


def strip():
    """The README's strip: gates that are practised, from wide and near to the target's."""
    shown = [r for r in STORED["sprl"].runs[0].records if r["iteration"] in (20, 130, 210, 350)]
    figure, panels = new(11, 2.5, 4)
    rng = np.random.default_rng(3)
    for axes, record in zip(panels, shown, strict=True):
        drawn = rng.multivariate_normal(record["context_mean"], record["context_covariance"], 9)
        rows = [*drawn, TARGET.mean]
        for y, (position, width) in enumerate(rows):  # a wall with a gap, seen from above
            colour = RED if y == len(rows) - 1 else BLUE
            axes.plot([-6, 6], [y, y], color="0.85", linewidth=2)
            axes.plot([position - width, position + width], [y, y], color=colour, linewidth=5)
        success = np.interp(record["iteration"], *column(STORED["sprl"].runs[0], "target_success"))
        axes.set(xlim=(-6, 6), yticks=[], xlabel="position of the gate")
        axes.set_title(f"iteration {record['iteration']}: {success:.0%} on the target", fontsize=10)
        axes.grid(False)
    save(figure, "strip.png")


def records(n=60, **columns):
    """Records of n iterations; each of `columns` is a function of progress from 0 to 1."""
    progress = np.linspace(0.0, 1.0, n)
    values = {name: [float(value(t)) for t in progress] for name, value in columns.items()}
    made = [{name: values[name][i] for name in values} for i in range(n)]
    measured = {"target_success": 0.0, "target_reward": 0.0}
    return [{"iteration": i + 1, **measured, **made[i]} for i in range(n)]


def jitter(seed):
    """Noise that is the same at every drawing."""
    rng = np.random.default_rng(seed)
    return lambda size: size * rng.standard_normal()


def troubles():
    """Schematic runs, by the health message that each of them gets."""
    noise = jitter(0)
    yield (
        "stalled",
        ("kl_to_target", "success"),
        records(
            kl_to_target=lambda t: 40.0 - 5 * min(t, 0.3),
            success=lambda t: min(0.9, 0.2 + 2 * t) + noise(0.02),
        ),
    )
    yield (
        "collapsed",
        ("entropy", "success"),
        records(
            kl_to_target=lambda t: 30.0,
            entropy=lambda t: 20.0 - 150.0 * t,
            success=lambda t: abs(0.1 + noise(0.03)),
        ),
    )
    yield (
        "starved",
        ("ess_policy", "success"),
        records(
            kl_to_target=lambda t: 30.0 * (1 - 0.3 * t),
            ess_policy=lambda t: abs(5 + noise(1.5)),
            success=lambda t: abs(0.15 + noise(0.08)),
        ),
    )
    yield (
        "unreachable",
        ("kl_to_target", "mastered"),
        records(
            kl_to_target=lambda t: max(6.0, 30.0 * (1 - 2 * t)),
            mastered=lambda t: 0.75 if t < 0.4 else 0.5 + noise(0.03),
            success=lambda t: 0.75 if t < 0.4 else 0.5,
            move=lambda t: 1.0 if t < 0.4 else 2.0,
        ),
    )
    yield (
        "stuck",
        ("kl_to_target", "mastered"),
        records(
            kl_to_target=lambda t: 30.0 * (1 - 1.5 * t) if t < 0.4 else 12.0 * (1.4 - t),
            mastered=lambda t: 0.75 if t < 0.4 else 0.55 + noise(0.02),
            success=lambda t: 0.75 if t < 0.4 else 0.55,
            move=lambda t: 1.0 if t < 0.4 else 2.0,
            entropy=lambda t: -18.0 - 60.0 * t,
        ),
    )


def courses():
    """Schematic runs that no other message fits: what their success rates alone say."""
    noise = jitter(1)

    def both(practice, target):
        return records(
            success=lambda t: min(max(practice(t) + noise(0.015), 0.0), 1.0),
            target_success=lambda t: min(max(target(t) + noise(0.015), 0.0), 1.0),
        )

    names = ("success", "target_success")
    hill = lambda t: 0.9 * min(1.0, 3 * t) if t < 0.6 else 0.9 * max(0.0, 1 - 6 * (t - 0.6))  # noqa: E731
    yield "forgotten", names, both(hill, hill)
    yield "unfinished", names, both(lambda t: 0.3 + 0.5 * t, lambda t: max(0.0, 0.9 * t - 0.3))
    yield "too hard", names, both(lambda t: -0.1, lambda t: -0.1)
    yield "elsewhere", names, both(lambda t: min(0.9, 0.2 + 2 * t), lambda t: 0.02)
    yield "plateau", names, both(lambda t: min(0.45, t), lambda t: min(0.45, t))
    yield "unsolved", names, both(lambda t: 0.3, lambda t: 0.05)[:5]


def without_need():
    """A schematic run that is solved, and whose curriculum was not needed."""
    rates = dict.fromkeys(("success", "target_success"), lambda t: min(1.0, 1.6 * t))
    names = ("kl_to_target", "target_success")
    yield "unneeded", names, records(kl_to_target=lambda t: 30.0 * (1.1 - t), **rates)


def without_successes():
    """A schematic run of a task that reports no successes: it may have solved it, or not."""
    names = ("kl_to_target", "target_reward")
    yield (
        "by rewards",
        names,
        records(
            kl_to_target=lambda t: max(0.0, 30.0 * (1 - 1.6 * t)),
            target_reward=lambda t: -1 + 0.75 * min(1.0, 1.6 * t),
            mastered=lambda t: min(1.0, 0.3 + t),
            move=lambda t: MOVES.index("on"),
            by_rewards=lambda t: 1.0,
            success=lambda t: np.nan,
            target_success=lambda t: np.nan,
        ),
    )


def health():
    """A picture of every health message; the records drawn do get the message."""
    labels = {"kl_to_target": "KL to the target (nats)", "success": "success, current contexts"}
    labels |= {"entropy": "policy entropy (nats)", "ess_policy": "effective samples"}
    labels |= {"mastered": "share that succeeds", "target_success": "success, target"}
    labels |= {"target_reward": "mean reward, target"}
    for kind, names, made in (*troubles(), *courses(), *without_need(), *without_successes()):
        kinds = [finding.kind for finding in (*findings(made, 14), as_easy(made)) if finding]
        if kinds != [kind]:
            raise ValueError(f"the records drawn for {kind!r} get {kinds}")
        figure, panels = new(7, 2.3, 2)
        for axes, name in zip(panels, names, strict=True):
            axes.plot([r["iteration"] for r in made], [r[name] for r in made], color=BLUE)
            axes.set(xlabel="iteration", ylabel=labels[name])
            if name in ("success", "mastered", "target_success"):
                axes.set_ylim(-0.03, 1.03)
            if name == "ess_policy":
                axes.axhline(10, color=RED, linestyle="--", linewidth=0.9)
        save(figure, f"health/{kind.replace(' ', '-')}.svg")


if __name__ == "__main__":
    for draw in (moving_contexts, no_signal, dual, schedule, mastery, strip, health):
        draw()
