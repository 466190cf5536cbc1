"""Experiments on environments that others wrote, in a tiny size; skipped where one is missing."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="needs the extra gym")

from selfpaced.deep.physics_env import PhysicsEnv
from selfpaced.experiments.experiment import Experiment
from selfpaced.experiments.others import HOPPER, MULTI_ROOM, OTHERS
from selfpaced.maths.categorical_network import CategoricalNetworkPolicy
from selfpaced.maths.policy import policy_from
from selfpaced.maths.randomness import streams_of
from selfpaced.sweep import run
from selfpaced.targets.target import samples_in
from selfpaced.testing.exact_state import through_file

# Box2D's wrapper warns while it loads, and crashes if the warning is made an error.
pytestmark = pytest.mark.filterwarnings("ignore:builtin type .*:DeprecationWarning")
TAUGHT = {"random-hopper": "doraemon"}  # one of the algorithms; otherwise "currot"


def built(experiment):
    try:
        return experiment.built_problem()
    except ValueError as error:
        pytest.skip(str(error))


def tiny(experiment, algorithm):
    return replace(
        experiment.algorithms[algorithm],
        environments=2,
        steps=50,  # the first update ends in the middle of episodes
        minibatches=2,
        epochs=1,
        hidden=(4,),
    )


@pytest.mark.parametrize("experiment", OTHERS, ids=lambda e: e.name)
def test_an_interrupted_training_continues_to_the_same_bits(experiment):
    problem = built(experiment)
    config = tiny(experiment, TAUGHT.get(experiment.name, "currot"))
    whole, resumed = (config.start(problem, streams_of(7)) for _ in range(2))
    whole.advance()
    resumed.restore(through_file("state of a training", whole.state()))
    np.testing.assert_equal(whole.advance(), resumed.advance())
    contexts = samples_in(problem.target, 2, np.random.default_rng(0), problem.task.context_space)
    outcomes = [t.measure(contexts, np.random.default_rng(1)) for t in (whole, resumed)]
    np.testing.assert_array_equal(outcomes[0].rewards, outcomes[1].rewards)
    assert set(outcomes[0].successes) <= {0.0, 1.0}


@pytest.mark.parametrize("experiment", OTHERS, ids=lambda e: e.name)
def test_every_teacher_starts_and_asks_for_contexts_that_exist(experiment):
    problem, rng = built(experiment), np.random.default_rng(0)
    space = problem.task.context_space
    for name, config in experiment.algorithms.items():
        contexts = config.teacher.start(space, problem.target).ask(50, rng)
        assert space.contains(contexts).all(), name


def test_discrete_actions_are_stored_and_drawn_with_their_probabilities(tmp_path):
    problem = built(MULTI_ROOM)
    training = tiny(MULTI_ROOM, "uniform").start(problem, streams_of(0))
    policy = training.policy
    assert isinstance(policy, CategoricalNetworkPolicy)
    again = policy_from(through_file("policy", policy.arrays(), kinds="fU"))
    seen = np.random.default_rng(0).integers(2, size=(1, 245)).astype(float)
    np.testing.assert_array_equal(again.probabilities(seen), policy.probabilities(seen))
    drawn = policy.sample(np.repeat(seen, 20_000, axis=0), np.random.default_rng(1))
    shares = np.bincount(drawn[:, 0].astype(int), minlength=4) / 20_000
    np.testing.assert_allclose(shares, policy.probabilities(seen)[0], atol=0.015)
    assert 0.0 < policy.entropy <= np.log(4) + 1e-12


def test_a_run_is_stored_with_the_physics_named(tmp_path):
    built(HOPPER)
    small = Experiment(
        name="small-hopper",
        problem=HOPPER.problem,
        algorithms={"none": tiny(HOPPER, "none")},
        iterations=1,
        measure_rollouts=1,
        final_rollouts=1,
    )
    run(small, seeds=1, out=tmp_path, workers=1)
    info = (tmp_path / "small-hopper" / "experiment.json").read_text()
    assert "body:torso.mass" in info


def test_rooms_and_crossings_follow_their_contexts():
    pytest.importorskip("minigrid", reason="needs the extra others")
    from selfpaced.deep.grid_worlds import crossings, multi_room

    rooms = multi_room()
    for count, size in ((1, 4), (3, 7), (4, 5)):
        rooms.reset(seed=0, options={"context": [count, size]})
        assert len(rooms.unwrapped.rooms) == count
        assert max(max(room.size) for room in rooms.unwrapped.rooms) <= size
        assert rooms.unwrapped.max_steps == 20 * count
    lava = crossings()
    for kind, name in enumerate(("wall", "lava")):
        lava.reset(seed=0, options={"context": [3, kind]})
        cells = [cell.type for cell in lava.unwrapped.grid.grid if cell is not None]
        assert cells.count("lava") == 0 if name == "wall" else cells.count("lava") > 10


def test_the_quick_view_is_that_of_minigrid():
    pytest.importorskip("minigrid", reason="needs the extra others")
    from minigrid.minigrid_env import MiniGridEnv

    from selfpaced.deep.grid_worlds import crossings, multi_room

    rng = np.random.default_rng(0)
    for env in (multi_room(), crossings()):
        for seed in range(8):
            env.reset(seed=seed, options={"context": env.bounds.uniform(1, rng)[0]})
            over = False
            while not over:
                found, expected = env.unwrapped.gen_obs(), MiniGridEnv.gen_obs(env.unwrapped)
                np.testing.assert_array_equal(found.pop("image"), expected.pop("image"))
                assert found == expected
                over = any(env.step(rng.integers(env.action_space.n))[2:4])


def test_a_view_tells_walls_doors_goals_and_lava_apart():
    pytest.importorskip("minigrid", reason="needs the extra others")
    from selfpaced.deep.grid_worlds import crossings, multi_room

    env = multi_room()
    for seed in range(5):
        seen, _ = env.reset(seed=seed, options={"context": [2, 5]})
        image = env.unwrapped.gen_obs()["image"]
        planes = seen.reshape(7, 7, 5)
        for k, number in enumerate((2, 4, 8, 9)):  # MiniGrid's wall, door, goal, lava
            np.testing.assert_array_equal(planes[:, :, k], image[:, :, 0] == number)  # all closed
        assert not planes[:, :, 4].any()
    seen, _ = crossings().reset(seed=0, options={"context": [3, 1]})
    assert seen.reshape(7, 7, 5)[:, :, 3].any()


def test_the_lander_falls_and_drifts_as_its_context_says():
    pytest.importorskip("Box2D", reason="needs the extra others")
    from selfpaced.deep.others_environments import windy_lander

    def after(context, steps=30):
        env = windy_lander()
        env.reset(seed=1, options={"context": context})
        for _ in range(steps):
            seen = env.step(0)[0]
        return seen

    assert after([-11.0, 0.0, 0.0])[1] < after([-2.0, 0.0, 0.0])[1] - 0.1  # its height
    assert abs(after([-5.0, 20.0, 0.0])[2] - after([-5.0, 0.0, 0.0])[2]) > 0.05  # sideways
    assert abs(after([-5.0, 0.0, 2.0])[5] - after([-5.0, 0.0, 0.0])[5]) > 1e-3  # its turn


def test_each_range_of_the_hopper_has_an_effect_and_runs(tmp_path, monkeypatch):
    pytest.importorskip("mujoco", reason="needs the extra mujoco")
    import gymnasium

    from selfpaced.deep.others_environments import PHYSICS

    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log of blow-ups into the current folder
    env = PhysicsEnv(gymnasium.make("Hopper-v5"), PHYSICS)
    np.testing.assert_allclose(env.context_space.centre, 1.0)  # what FixedTeacher() trains on
