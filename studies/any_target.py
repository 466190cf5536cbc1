"""Gate tasks with targets that are not one Gaussian, and their rollouts to a success rate of 0.9.

python -m studies.any_target --seeds 0 1 2 3 4

Every run has the settings of gate-precision; only the target differs, and beside the mastery rule
C-REPS learns on the two-sided target. The policy is the paper's, linear in the context. It is
measured every 10 iterations with 200 rollouts on the target.

python -m studies.any_target --seeds 0 1 2 3 4 --only uniform --figure docs/images/uniform-gate.svg

runs the uniform target only and draws the success rate at each position of the gate.
"""

import argparse
from pathlib import Path

import numpy as np

from selfpaced import Empirical, Gaussian, Mixture, Problem, Uniform
from selfpaced.experiments import experiment
from selfpaced.maths.randomness import streams_of
from selfpaced.report.figures import new_figure, tidy
from selfpaced.targets.target import samples_in
from studies.mastery_before import sprl_before

GATE = experiment("gate-precision")
COVARIANCE = np.diag([0.1, 0.001])  # that of gate-precision
LEFT, RIGHT = Gaussian([-4.0, 0.2], COVARIANCE), Gaussian([4.0, 0.2], COVARIANCE)
POSITIONS = np.linspace(-4.0, 4.0, 33)
RECORDED = 500
UNIFORM = "uniform from -4 to 4"  # name of that target
MEASURED, EVERY = 200, 10


def targets():
    """The targets by name; the first is that of gate-precision."""
    space = GATE.built_problem().task.context_space
    recorded = LEFT.sample(RECORDED, np.random.default_rng(123), space)
    return {
        "one Gaussian": LEFT,
        "a mixture of that one Gaussian": Mixture([LEFT]),
        f"{RECORDED} recorded contexts of it": Empirical(recorded),
        "gates at -4 and 4": Mixture([LEFT, RIGHT]),
        UNIFORM: Uniform(low=[-4.0, 0.1], high=[4.0, 0.2]),
    }


def problem_with(target):
    """The problem of gate-precision with another target."""
    base = GATE.built_problem()
    return Problem(
        base.task,
        target,
        initial_contexts=base.initial_contexts,
        initial_policy=base.initial_policy,
        value_features=base.value_features,
        reward_shift=base.reward_shift,
    )


def success(training, contexts, seed):
    """The success rate of the policy on `contexts`."""
    return float(training.measure(contexts, np.random.default_rng(seed)).successes.mean())


def run(target, algorithm, seed, iterations):
    """Rollouts to a success rate of 0.9 on the target (infinity if never), and the training."""
    problem = problem_with(target)
    config = sprl_before(100) if algorithm == "sprl-mastery" else GATE.algorithm(algorithm)
    training = config.start(problem, streams_of(seed))
    reached, space = np.inf, problem.task.context_space
    for iteration in range(1, iterations + 1):
        training.advance()
        if iteration % EVERY == 0 and np.isinf(reached):
            rng = np.random.default_rng([seed, iteration])
            contexts = samples_in(target, MEASURED, rng, space)
            if success(training, contexts, iteration) >= 0.9:
                reached = training.spent.rollouts
    return reached, training


def final_scores(name, training, seed):
    """Success rates of the last policy: on the target's modes, or at each position."""
    space = GATE.built_problem().task.context_space
    rng = np.random.default_rng([seed, 10**6])
    if name == UNIFORM:
        widths = rng.uniform(0.1, 0.2, size=(len(POSITIONS), 100))
        return [
            success(training, np.column_stack([np.full(100, x), width]), seed)
            for x, width in zip(POSITIONS, widths, strict=True)
        ]
    modes = (LEFT, RIGHT) if name.startswith("gates") else (LEFT,)
    return [success(training, samples_in(mode, 500, rng, space), seed) for mode in modes]


def draw_positions(curves, path):
    """Write a figure of success rates over the position of the gate; `curves` are by seed."""
    figure = new_figure(6.0, 3.0)
    axes = figure.subplots()
    for seed, rates in curves.items():
        axes.plot(POSITIONS, rates, lw=1.2, label=f"seed {seed}")
    axes.axhline(0.9, color="0.5", lw=0.8, ls="--")
    axes.set(ylim=(0.0, 1.02), xlabel="position of the gate", ylabel="success rate")
    axes.legend(frameon=False, fontsize=7, loc="lower center", ncols=len(curves))
    tidy(axes)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main():
    """Print one line for every target and seed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--iterations", type=int, default=480)
    parser.add_argument("--only", default="", help="beginning of the names of targets to run")
    parser.add_argument("--figure", type=Path, help="file for the curves of the uniform target")
    options = parser.parse_args()
    runs = [(name, "sprl-mastery") for name in targets()] + [("gates at -4 and 4", "creps")]
    runs = [(name, algorithm) for name, algorithm in runs if name.startswith(options.only)]
    if options.figure and UNIFORM not in [name for name, _ in runs]:
        parser.error(f"--figure needs the target {UNIFORM!r}; got --only {options.only!r}")
    curves = {}
    for name, algorithm in runs:
        for seed in options.seeds:
            reached, training = run(targets()[name], algorithm, seed, options.iterations)
            scores = np.array(final_scores(name, training, seed))
            shown = np.round(scores, 2).tolist()
            if len(shown) > 2:
                curves[seed] = scores
                shown = f"{(scores >= 0.9).mean():.2f} of positions at 0.9, {shown}"
            print(f"{name} | {algorithm} | seed {seed} | {reached} | {shown}", flush=True)
    if options.figure:
        draw_positions(curves, options.figure)


if __name__ == "__main__":
    main()
