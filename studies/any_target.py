"""Gate tasks with targets that are not one Gaussian, and their rollouts to a success rate of 0.9.

python -m studies.any_target --seeds 0 1 2 3 4

Every run has the settings of gate-precision; only the target differs, and beside the mastery rule
C-REPS learns on the two-sided target. The policy is the paper's, linear in the context. It is
measured every 10 iterations with 200 rollouts on the target.
"""

import argparse

import numpy as np

from selfpaced import Empirical, Gaussian, Mixture, Problem, Uniform
from selfpaced.experiments import experiment
from selfpaced.maths.randomness import streams_of
from selfpaced.targets.target import samples_in

GATE = experiment("gate-precision")
COVARIANCE = np.diag([0.1, 0.001])  # that of gate-precision
LEFT, RIGHT = Gaussian([-4.0, 0.2], COVARIANCE), Gaussian([4.0, 0.2], COVARIANCE)
POSITIONS = np.linspace(-4.0, 4.0, 33)
RECORDED = 500
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
        "uniform from -4 to 4": Uniform(low=[-4.0, 0.1], high=[4.0, 0.2]),
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
    training = GATE.algorithm(algorithm).start(problem, streams_of(seed))
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
    if name.startswith("uniform"):
        widths = rng.uniform(0.1, 0.2, size=(len(POSITIONS), 100))
        return [
            success(training, np.column_stack([np.full(100, x), width]), seed)
            for x, width in zip(POSITIONS, widths, strict=True)
        ]
    modes = (LEFT, RIGHT) if name.startswith("gates") else (LEFT,)
    return [success(training, samples_in(mode, 500, rng, space), seed) for mode in modes]


def main():
    """Print one line for every target and seed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--iterations", type=int, default=480)
    options = parser.parse_args()
    runs = [(name, "sprl-mastery") for name in targets()] + [("gates at -4 and 4", "creps")]
    for name, algorithm in runs:
        for seed in options.seeds:
            reached, training = run(targets()[name], algorithm, seed, options.iterations)
            scores = np.array(final_scores(name, training, seed))
            shown = np.round(scores, 2).tolist()
            if len(shown) > 2:
                shown = f"{(scores >= 0.9).mean():.2f} of positions at 0.9, {shown}"
            print(f"{name} | {algorithm} | seed {seed} | {reached} | {shown}", flush=True)


if __name__ == "__main__":
    main()
