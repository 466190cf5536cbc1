"""Physics by name on Gymnasium's Hopper: every setter moves it, and nothing of it remains."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="needs the extra gym")
mujoco = pytest.importorskip("mujoco", reason="needs the extra mujoco")

from selfpaced import ContextualEnv, PhysicsEnv
from selfpaced.spaces.constrained import Infeasible
from selfpaced.tasks.mujoco.physics import Physics

SETTERS = {
    "body:torso.mass": (0.5, 2.0),
    "geom:foot_geom.friction": (0.2, 1.5),
    "actuator:0.gain": (0.5, 1.5),
    "gravity": (0.5, 1.5),
    "joint:foot_joint.damping": (0.5, 2.0),
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """MuJoCo writes a log of blow-ups into the current folder."""
    monkeypatch.chdir(tmp_path)


def hopper():
    return gymnasium.make("Hopper-v5")


def numbers_of(model):
    """Every number of a model, by name."""
    found = {}
    for owner in (model, model.opt, model.stat):
        for name in dir(owner):
            value = None if name.startswith("_") else getattr(owner, name)
            if isinstance(value, np.ndarray | float):
                found[f"{type(owner).__name__}.{name}"] = np.array(value)
    return found


def path_of(env, options=None, steps=100):
    rng, observations = np.random.default_rng(0), [env.reset(seed=3, options=options)[0]]
    for _ in range(steps):
        observations.append(env.unwrapped.step(rng.uniform(-1, 1, 3).astype(np.float32))[0])
    return np.array(observations)


@pytest.mark.parametrize("name", SETTERS)
def test_each_property_changes_the_motion_and_is_restored_to_the_last_bit(name):
    bare = hopper()
    known, before = path_of(bare), numbers_of(bare.unwrapped.model)
    env = PhysicsEnv(hopper(), {name: SETTERS[name]})
    # Checked at both ends, and again as it was made:
    np.testing.assert_equal(numbers_of(env.unwrapped.model), before)
    paths = [path_of(env, {"context": [factor]}) for factor in (*SETTERS[name], 1.0)]
    assert not np.array_equal(paths[0], paths[1])
    np.testing.assert_array_equal(paths[2], known)  # the factor 1 is the model itself
    path_of(env, {"context": [SETTERS[name][1]]})
    model = env.unwrapped.model
    assert any((numbers_of(model)[key] != before[key]).any() for key in before)
    env.close()
    np.testing.assert_equal(numbers_of(model), before)


def test_values_in_units_equal_factors_and_a_mass_keeps_its_shape():
    by_factor, by_value = (hopper().unwrapped.model for _ in range(2))
    torso = float(by_factor.body("torso").mass[0])
    names = "body:torso.mass", "gravity", "actuator:1.gain"
    Physics(by_factor, names).set(np.array([2.0, 0.5, 1.5]))
    Physics(by_value, (), names).set(np.array([2.0 * torso, 0.5 * 9.81, 1.5]))
    np.testing.assert_equal(numbers_of(by_factor), numbers_of(by_value))
    plain = hopper().unwrapped.model
    np.testing.assert_allclose(by_factor.body("torso").inertia, 2 * plain.body("torso").inertia)
    assert by_factor.body_subtreemass[0] == pytest.approx(plain.body_subtreemass[0] + torso)
    np.testing.assert_allclose(by_factor.opt.gravity, [0.0, 0.0, -4.905])


def test_a_star_stands_for_all_objects_of_a_kind():
    model = hopper().unwrapped.model
    before = model.geom_friction.copy()
    Physics(model, ("geom:*.friction",)).set(np.array([0.5]))
    np.testing.assert_array_equal(model.geom_friction[:, 0], 0.5 * before[:, 0])
    np.testing.assert_array_equal(model.geom_friction[:, 1:], before[:, 1:])


def test_a_position_servo_keeps_its_form():
    xml = """<mujoco><worldbody><body><joint name="j"/><geom size="1"/></body></worldbody>
    <actuator><position joint="j" kp="10"/></actuator></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    Physics(model, ("actuator:0.gain",)).set(np.array([3.0]))
    assert model.actuator_gainprm[0, 0] == 30.0
    assert model.actuator_biasprm[0, 1] == -30.0


def test_a_context_space_takes_three_lines():
    ranges = {"body:*.mass": (0.5, 2.0), "gravity": (0.8, 1.2)}
    env = ContextualEnv(PhysicsEnv(hopper(), ranges), success=1000.0)
    env.queue_contexts([[0.5, 1.1], [2.0, 0.9]])
    assert env.bounds.high.tolist() == [2.0, 1.2]
    assert env.get_wrapper_attr("context_names") == ("body:*.mass", "gravity")
    for factor in (1.1, 0.9):
        env.reset(seed=0)
        assert env.unwrapped.model.opt.gravity[2] == pytest.approx(-9.81 * factor)


def test_the_check_leaves_the_random_generator_alone():
    env = PhysicsEnv(hopper(), {"gravity": (0.5, 1.5)})
    other = PhysicsEnv(hopper(), {"gravity": (0.5, 1.5)})
    assert not np.array_equal(env.reset()[0], other.reset()[0])  # not the seed of the check


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ({"body:trosso.mass": (0.5, 2.0)}, "unknown body of this model 'trosso'; did you mean 't"),
        ({"body:torso.weight": (0.5, 2.0)}, "unknown property of a body 'weight'"),
        ({"bodies:torso.mass": (0.5, 2.0)}, "unknown kind of object 'bodies'; did you mean 'body'"),
        ({"torso": (0.5, 2.0)}, "must be 'gravity' or like 'body:torso.mass'; got 'torso'"),
        ({"actuator:3.gain": (0.5, 2.0)}, "unknown actuator of this model '3'"),
        ({"joint:foot_joint.frictionloss": (0.5, 2.0)}, "cannot be scaled, because it is 0"),
        ({"body:world.mass": (0.5, 2.0)}, "a body must have a mass"),
        ({"gravity": (2.0, 0.5)}, r"must be \(low, high\) with 0 <= low < high; got \(2.0, 0.5\)"),
        ({}, "scaled or absolute must have at least one property"),
        # The foot's friction is 2, and the larger one of two surfaces counts:
        ({"geom:floor.friction": (0.5, 1.5)}, "of geom:floor.friction must change the motion; 0.5"),
        ({"actuator:0.gain": (1.0, 1e9)}, r"of actuator:0.gain must let the simulation run; it b"),
    ],
)
def test_what_cannot_work_is_refused_in_one_sentence(ranges, words):
    with pytest.raises(ValueError, match=words) as caught:
        PhysicsEnv(hopper(), ranges)
    assert "\n" not in str(caught.value)


def test_a_blow_up_in_an_episode_is_named():
    env = PhysicsEnv(hopper(), {"actuator:0.gain": (1.0, 1e9)}, check=False)
    env.reset(seed=0, options={"context": [1e9]})

    def play():
        for _ in range(50):
            env.step(np.ones(3, np.float32))

    with pytest.raises(Infeasible, match=r"blows up at actuator:0\.gain = 1e"):
        play()


def test_other_environments_and_names_given_twice_are_refused():
    with pytest.raises(ValueError, match="env must be a MuJoCo environment"):
        PhysicsEnv(gymnasium.make("CartPole-v1"), {"gravity": (0.5, 2.0)})
    with pytest.raises(ValueError, match="got 'gravity' twice"):
        PhysicsEnv(hopper(), {"gravity": (0.5, 2.0)}, {"gravity": (1.0, 2.0)})
