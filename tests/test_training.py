"""The loop in memory, randomness, and a user's own function."""

import subprocess
import sys

import numpy as np
import pytest

from selfpaced import SPRL, Box, FunctionTask, Gaussian, Problem, Samples, train
from selfpaced.maths.randomness import generator_state, measuring, restored_generator, streams_of
from selfpaced.teachers import TEACHERS

BOXES = Box([0.0], [1.0]), Box([-1.0, -1.0], [1.0, 1.0])
TARGET = Gaussian([0.9], [[1e-3]])


def task(function, **options):
    return FunctionTask(function, *BOXES, **options)


def good(contexts, thetas):
    return -np.sum((thetas - contexts) ** 2, axis=1)


def test_a_first_run_takes_a_function_a_box_and_a_target():
    run = train(Problem(task(good), TARGET), SPRL(), iterations=4)
    assert len(run.records) == 4
    assert run.policy.mean([0.9]).shape == (2,)


def test_records_say_what_a_figure_needs():
    run = train("gate-precision", "sprl", iterations=7)
    last = run.records[-1]
    assert {"iteration", "rollouts", "reward", "success", "entropy"} <= set(last)
    assert np.shape(last["context_covariance"]) == (2, 2)
    measured = [r["iteration"] for r in run.records if "target_success" in r]
    assert measured == [7]  # every 350 // 50 iterations
    assert run.final.trajectories.shape == (10, 101, 2)
    assert run.records[0]["reward"] < 0  # shown as the task gives it, without the shift of 100


def test_every_library_for_linear_algebra_computes_with_one_thread():
    """Also SciPy's, which is loaded late: a second thread cost up to 15 times the CPU time."""
    code = """
import numpy as np
from threadpoolctl import threadpool_info
from selfpaced import SPRL, Box, FunctionTask, Gaussian, Problem, train

def reward(contexts, thetas):
    found.append([library["num_threads"] for library in threadpool_info()])
    return thetas[:, 0]

found = []
task = FunctionTask(reward, Box([0], [1]), Box([0], [1]))
train(Problem(task, Gaussian([0.9], [[1e-3]])), SPRL(), iterations=2)
print(len(found[-1]), found[-1])
"""
    environment = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, env=environment, stdout=-1, text=True, check=True).stdout
    assert said.strip() in ("2 [1, 1]", "1 [1]")  # NumPy and SciPy may share a library


def test_measuring_uses_a_stream_of_its_own_for_every_iteration():
    sequence = streams_of(3).measure
    first, again = measuring(sequence, 7), measuring(sequence, 7)
    assert first.random() == again.random()
    assert measuring(sequence, 8).random() != measuring(sequence, 7).random()


def test_streams_of_a_seed_are_separate():
    streams = streams_of(0)
    assert streams.learn.random() != streams.world.random()
    assert streams_of(0).learn.random() == streams_of(0).learn.random()


def test_a_generator_comes_back_from_its_state():
    rng = np.random.default_rng(4)
    rng.integers(10, dtype=np.int32)  # leaves half a word in the generator
    again = restored_generator(generator_state(rng))
    assert rng.integers(1000, size=9, dtype=np.int32).tolist() == (
        again.integers(1000, size=9, dtype=np.int32).tolist()
    )
    np.testing.assert_array_equal(rng.normal(size=5), again.normal(size=5))
    with pytest.raises(ValueError, match=r"rng must be a PCG64 generator.*got MT19937"):
        generator_state(np.random.Generator(np.random.MT19937(0)))


def test_a_function_that_raises_shows_its_own_traceback_and_keeps_the_batch():
    def broken(contexts, thetas):
        raise KeyError("spring constant")

    own = task(broken)
    with pytest.raises(KeyError, match="spring constant") as caught:
        train(Problem(own, TARGET), SPRL(n_samples=7), iterations=1)
    assert any("last_batch" in note for note in caught.value.__notes__)
    contexts, thetas = own.last_batch
    assert contexts.shape == (7, 1)
    assert thetas.shape == (7, 2)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda c, t: np.full(len(c), np.nan), "rewards must be finite; 50 of 50 rows are not"),
        (lambda c, t: np.ones((len(c), 1)), r"rewards must be \(50,\).* got \(50, 1\)"),
        (lambda c, t: 1.0, r"rewards must be \(50,\).* got \(\)"),
        (lambda c, t: (np.ones(len(c)), np.ones(3)), r"successes must be \(50,\)"),
        (
            lambda c, t: ["good"] * len(c),
            r"rewards must be numbers in rows of one length; got \['g",
        ),
        (lambda c, t: (1, 2, 3, 4), "must return rewards, or .* got a tuple of 4"),
    ],
)
def test_what_a_function_returns_is_checked(function, message):
    with pytest.raises(ValueError, match=message):
        train(Problem(task(function), TARGET), SPRL(), iterations=1)


def test_what_a_function_does_to_its_arguments_is_not_learned_from():
    def untidy(contexts, thetas):
        rewards = good(contexts, thetas)
        contexts[:] = 0.0
        thetas += 1.0
        return rewards

    tidy, other = (train(Problem(task(f), TARGET), SPRL(), iterations=3) for f in (good, untidy))
    np.testing.assert_array_equal(tidy.policy.A, other.policy.A)


def test_a_metric_that_nobody_recorded_is_named():
    run = train(Problem(task(good), TARGET), SPRL(), iterations=2)
    with pytest.raises(ValueError, match="unknown metric 'kl_to_targt'; did you mean 'kl_to_tar"):
        run.column("kl_to_targt")


def test_a_noisy_function_gets_a_generator():
    def noisy(contexts, thetas, rng):
        return good(contexts, thetas) + 0.01 * rng.normal(size=len(contexts))

    runs = [train(Problem(task(noisy, noisy=True), TARGET), SPRL(), iterations=3) for _ in "ab"]
    np.testing.assert_equal(runs[0].records, runs[1].records)
    np.testing.assert_array_equal(runs[0].policy.A, runs[1].policy.A)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gate-precison", "sprl"), "unknown experiment 'gate-precison'; did you mean 'gate-prec"),
        (("gate-precision", "sprrl"), "unknown algorithm 'sprrl'; did you mean 'sprl'"),
        ((Problem(task(good), TARGET), "sprl"), "algorithm must be a configuration such as SPRL"),
        ((Problem(task(good), TARGET), SPRL()), "iterations must be given"),
        (("gate-precision", SPRL), "algorithm must be a configuration such as SPRL"),
    ],
)
def test_wrong_names_and_missing_numbers_are_explained(arguments, message):
    with pytest.raises(ValueError, match=message):
        train(*arguments)


def test_iterations_must_be_positive():
    with pytest.raises(ValueError, match="iterations must be a whole number of at least 1; got 0"):
        train("gate-precision", "sprl", iterations=0)


def test_measuring_takes_no_more_rollouts_than_learning_unless_asked():
    """As it took five times as many in a short run."""
    run = train(Problem(task(good), TARGET), SPRL(n_samples=10, buffer_size=2), iterations=60)
    assert run.rollouts == 610
    assert 0 < run.measuring_rollouts <= run.rollouts
    assert f"610 rollouts and {run.measuring_rollouts} to measure" in repr(run)
    asked = {"measure_every": 20, "measure_rollouts": 30, "final_rollouts": 40}
    other = train(
        Problem(task(good), TARGET), SPRL(n_samples=10, buffer_size=2), iterations=60, **asked
    )
    assert other.measuring_rollouts == 3 * 30 + 2 * 40
    measured = [r["iteration"] for r in other.records if "target_reward" in r]
    assert measured == [20, 40, 60]
    np.testing.assert_array_equal(other.policy.mean([0.9]), run.policy.mean([0.9]))
    with pytest.raises(ValueError, match="measure_rollouts must be a whole number of at least 1"):
        train(Problem(task(good), TARGET), SPRL(), iterations=1, measure_rollouts=0)


def test_experiments_are_measured_as_they_say():
    run = train("gate-precision", "sprl", iterations=7, final_rollouts=20)
    assert run.measuring_rollouts == 100 + 2 * 20 + 10  # ten trajectories


def test_samples_may_leave_out_successes():
    samples = Samples(np.zeros((3, 1)), np.zeros((3, 2)), np.zeros(3))
    assert np.isnan(samples.successes).all()
    assert samples.successes.shape == (3,)
    learner = SPRL(n_samples=10, buffer_size=1).learner(Problem(task(good), TARGET))
    contexts, thetas = learner.ask(np.random.default_rng(0))
    assert learner.tell(Samples(contexts, thetas, good(contexts, thetas)))


def test_what_is_no_problem_is_named_with_what_to_write():
    with pytest.raises(ValueError, match=r"write Problem\(FunctionTask\(...\), target=Gaussian"):
        train(task(good), SPRL(), iterations=1)
    with pytest.raises(ValueError, match="problem must be a Problem, an experiment or its name"):
        train(None, SPRL(), iterations=1)
    with pytest.raises(ValueError, match=r"such as 0.01 \* np.eye\(2\); got the number 0.01"):
        Gaussian([0.0, 1.0], 0.01)
    with pytest.raises(ValueError, match=r"such as np.diag\(\[1.0, 2.0\]\); got the vector"):
        Gaussian([0.0, 1.0], [1.0, 2.0])


@pytest.mark.parametrize("name", sorted(TEACHERS))
def test_a_list_as_space_is_named_with_what_to_write(name):
    with pytest.raises(ValueError, match=r"context_space must be a Box, such as Box\(\[0, 0\]"):
        TEACHERS[name].start([[0.0], [1.0]], TARGET)


def test_a_star_import_leaves_other_peoples_ppo_alone():
    import selfpaced

    assert "PPO" not in selfpaced.__all__
    assert selfpaced.PPO.__name__ == "PPO"
    assert "PPO" in dir(selfpaced)


def test_a_run_that_fails_says_what_is_wrong_and_one_that_succeeds_does_not():
    def reach(contexts, thetas):
        miss = np.abs(thetas - contexts).max(axis=1)
        return -miss, miss < 0.2

    def hopeless(contexts, thetas):
        return -np.abs(thetas - contexts).max(axis=1), np.zeros(len(contexts))

    healthy = train(Problem(task(reach), TARGET), SPRL(), iterations=60)
    assert healthy.success > 0.9
    assert healthy.health() == []
    assert "health" not in repr(healthy)
    failed = train(Problem(task(hopeless), TARGET), SPRL(), iterations=60)
    collapsed, unreachable = failed.health()
    assert "0% of the rollouts succeed" in collapsed.shown_by
    assert "nothing is mastered yet" in unreachable.shown_by
    assert f"{unreachable.kind}: see health()" in repr(failed)
