"""The examples run and show what they say."""

import importlib.util
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from selfpaced import Box, Curriculum, FunctionTask, Gaussian, experiment, train
from selfpaced.cli import main
from selfpaced.testing import check_task, check_teacher

EXAMPLES = Path(__file__).parents[1] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_own_function_succeeds_with_sprl_and_not_without():
    example = load("own_function")
    sprl = example.train(example.problem, example.SPRL(), seed=0, iterations=200)
    creps = example.train(example.problem, example.CREPS(), seed=0, iterations=200)
    assert sprl.success >= 0.9
    assert creps.success <= 0.4


def test_ask_tell_continues_after_a_stop_as_if_there_had_been_none(tmp_path, monkeypatch, capsys):
    example = load("ask_tell")
    whole = example.main(tmp_path / "whole.npz")
    trials, real = 0, example.trial

    def power_cut(context, theta):
        nonlocal trials
        trials += 1
        if trials in (7, 120, 121):
            raise KeyboardInterrupt
        return real(context, theta)

    monkeypatch.setattr(example, "trial", power_cut)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            example.main(tmp_path / "cut.npz")
    np.testing.assert_array_equal(example.main(tmp_path / "cut.npz"), whole)
    printed = capsys.readouterr().out
    assert printed.count("continuing") == 3
    assert "continuing: batch 1, trial 7" in printed


def test_a_curriculum_in_a_script_runs_and_prints_both(capsys):
    pytest.importorskip("stable_baselines3", reason="needs the extra sb3")
    load("sb3_curriculum").main(steps=2048, episodes=5)
    assert capsys.readouterr().out.count("% on the target") == 2


def test_an_own_environment_gets_a_sweep(tmp_path, monkeypatch, capsys):
    pytest.importorskip("stable_baselines3", reason="needs the extra sb3")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.chdir(EXAMPLES)
    words = ["--algorithms", "threshold", "--iterations", "1", "--seeds", "1"]
    out = ["--out", str(tmp_path)]
    assert main(["run", "own_environment:SWING_UP", *words, *out]) == 0
    assert "swing-up" in capsys.readouterr().out


def test_the_same_teacher_serves_both_kinds_of_learner(capsys):
    pytest.importorskip("stable_baselines3", reason="needs the extra sb3")
    load("same_teacher").main(iterations=3, steps=1)
    assert capsys.readouterr().out.count("contexts at") == 2


@pytest.mark.parametrize(
    "name", ["own_function", "own_experiment", "ask_tell", "own_environment", "same_teacher"]
)
def test_tasks_and_teachers_of_the_examples_keep_the_contracts(name, monkeypatch):
    if name == "own_environment":
        pytest.importorskip("gymnasium", reason="needs the extra gym")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    example = load(name)
    if name == "own_function":
        check_task(example.problem.task)
    elif name == "own_experiment":
        check_task(example.Throw())
    elif name == "ask_tell":  # one trial at a time, here for all rows of a batch
        check_task(FunctionTask(lambda *rows: list(map(example.trial, *rows)), *example.BOXES))
    elif name == "own_environment":
        problem = example.problem()
        check_task(problem.task, action_dimension=1)
        for config in example.SWING_UP.algorithms.values():
            check_teacher(config.teacher, problem.task.context_space, problem.target)
    else:
        gate = experiment("gate-precision").problem()
        check_teacher(example.TEACHER, gate.task.context_space, gate.target)


def test_contexts_of_two_gates_split_and_both_are_learned():
    success, contexts = load("two_gates").main(iterations=480)
    assert success > 0.8
    assert (np.abs(contexts[:, 0]) > 3.0).all()


def test_goals_beside_an_obstacle_are_learned_whether_it_is_known_or_not():
    assert min(load("obstacle").main()) > 0.9


def test_recorded_positions_are_mastered():
    assert min(load("recorded_positions").main().values()) > 0.9


def test_a_grid_world_of_whole_numbers_and_categories_is_mastered():
    assert load("grid_world").main() > 0.9


def test_a_chain_of_tasks_is_climbed_in_a_fraction_of_the_episodes():
    example = load("task_chain")
    paced = example.episodes_until_solved(example.TEACHER, 0, 20_000)
    assert paced < 20_000
    uniform = example.episodes_until_solved(example.UniformTeacher(), 0, int(2 * paced))
    assert np.isinf(uniform)  # five times as many are not enough either: docs/any-target.md


def test_ppo_in_one_file_runs_with_a_curriculum(capsys):
    pytest.importorskip("gymnasium", reason="needs the extra gym")
    pytest.importorskip("torch", reason="needs the extra torch")
    example = load("ppo_one_file")
    example.STEPS, example.EPOCHS, example.EVALUATION = 110, 1, 8
    success = example.main(steps=2 * 8 * 110)
    assert 0.0 <= success <= 1.0
    assert capsys.readouterr().out.count("on the target") == 3


def test_a_batched_simulator_learns_from_a_curriculum():
    pytest.importorskip("torch", reason="needs the extra torch")
    example, shown = load("batched_simulator"), []
    example.EPOCHS = 1
    success, share = example.main(n=256, iterations=4, show=shown.append)
    assert 0.0 <= success <= 1.0
    assert 0.0 < share < 1.0
    assert "256 contexts in flight" in shown[-1]


def test_rllib_shares_one_teacher_and_goes_on_with_it_after_a_restore(tmp_path, monkeypatch):
    try:
        import ray
        import ray.rllib
    except ImportError as error:
        pytest.skip(f"needs the extra rllib, in an environment of its own: {error}")
    from ray import cloudpickle

    ray.init(num_cpus=3, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    try:
        example = load("rllib_curriculum")
        monkeypatch.setitem(sys.modules, "rllib_curriculum", example)
        cloudpickle.register_pickle_by_value(example)  # it is no module that workers could import
        first, second = (example.CentralTeacher.remote(seed=seed) for seed in (0, 1))
        algorithm = example.build(first, envs=2, batch=600, epochs=1)
        for _ in range(2):
            algorithm.train()
        algorithm.save_to_path(tmp_path / "checkpoint")
        saved = ray.get(first.state_dict.remote())
        algorithm.stop()
        again = example.build(second, envs=2, batch=600, epochs=1)
        again.restore_from_path(tmp_path / "checkpoint")
        known = Curriculum(example.TEACHER, example.SPACE, example.TARGET)
        known.load_state_dict(saved)
        known.restart_episodes()
        assert known.episodes > 0
        assert ray.get(second.state_dict.remote()) == known.state_dict()
        again.train()
        before = known.episodes
        known.load_state_dict(ray.get(second.state_dict.remote()))
        assert known.episodes > before
        again.stop()
    finally:
        ray.shutdown()


def test_the_teacher_in_the_manual_keeps_the_contract():
    text = (EXAMPLES.parent / "docs" / "curricula.md").read_text()
    (code,) = (block for block in text.split("```") if "class WideningTeacher" in block)
    names = {"dataclass": dataclass, "np": np, "__name__": "manual"}
    sys.modules["manual"] = module = ModuleType("manual")
    try:
        module.__dict__.update(names)
        exec(code.removeprefix("python"), module.__dict__)
        check_teacher(
            module.Widening(), Box([0.0, -1.0], [1.0, 1.0]), Gaussian([0.9, 0], np.eye(2))
        )
    finally:
        del sys.modules["manual"]


def test_a_teacher_and_a_task_of_ones_own_enter_the_benchmarks(monkeypatch):
    example = load("own_benchmark_entry")
    monkeypatch.setitem(sys.modules, "own_benchmark_entry", example)  # other processes import it
    check_task(example.Docking())
    spdl = example.SPDL.built_problem()
    check_teacher(example.Widening(), spdl.task.context_space, spdl.target)
    small = {"environments": 4, "steps": 25, "minibatches": 4, "epochs": 1, "hidden": (8,)}
    for found, name in ((example.WITH_MINE, "mine"), (example.DOCKING, "mastery")):
        config = replace(found.algorithm(name), **small)
        learned = train(found, config, iterations=2, measure_rollouts=2, final_rollouts=2)
        assert learned.rollouts == 200 // found.built_problem().task.steps


@pytest.mark.filterwarnings("ignore:builtin type .*:DeprecationWarning")  # of Box2D, as it loads
@pytest.mark.parametrize(
    ("name", "package", "steps", "words"),
    [
        ("minigrid_rooms", "minigrid", (2048, 8), "% on four rooms"),
        ("windy_lander", "Box2D", (4096, 8), "in the storm"),
        ("random_hopper", "mujoco", (4000,), "90% of the factors"),
    ],
)
def test_scripts_on_environments_of_others_run(name, package, steps, words, capsys):
    for needed in ("stable_baselines3", package):
        pytest.importorskip(needed, reason="needs the extra others")
    load(name).main(*steps)
    assert capsys.readouterr().out.count(words) in (2, 3)


def test_categories_of_minigrid_get_a_sweep(tmp_path, monkeypatch, capsys):
    for needed in ("stable_baselines3", "minigrid"):
        pytest.importorskip(needed, reason="needs the extra others")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.chdir(EXAMPLES)
    words = ["--algorithms", "currot", "--iterations", "1", "--seeds", "1"]
    assert main(["run", "minigrid_crossings:LAVA", *words, "--out", str(tmp_path)]) == 0
    assert "lava" in capsys.readouterr().out
