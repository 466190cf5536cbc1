"""PPO as a training like the others."""

import dataclasses
import json

import numpy as np
import pytest

for _package in ("torch", "gymnasium", "stable_baselines3"):
    pytest.importorskip(_package, reason="needs the extra sb3")
import torch

from selfpaced import Gaussian, Problem, load_policy
from selfpaced.deep.ppo import PPO
from selfpaced.experiments import Experiment, experiment
from selfpaced.maths.randomness import streams_of
from selfpaced.store.packed import read_packed, write_packed
from selfpaced.store.reading import read_run
from selfpaced.sweep import run
from selfpaced.tasks.gate import Gate
from selfpaced.tasks.kinematic import KinematicReacher

ENVIRONMENT = "selfpaced.deep.environments:selfpaced/ReacherObstaclesKinematic-v0"
SMALL = PPO(
    environment=ENVIRONMENT,
    environments=2,
    steps=150,
    minibatches=2,
    epochs=2,
    hidden=(8, 8),
    n_samples=2,
    buffer_size=2,
)
EASY = Gaussian([0.01, 0.01], 3e-6 * np.eye(2))


def problem():
    return Problem(KinematicReacher(), EASY)


EXPERIMENT = Experiment(
    name="step-by-step",
    title="Step by step",
    problem=problem,
    algorithms={"ppo": SMALL},
    iterations=4,
    measure_rollouts=3,
    final_rollouts=4,
)


def test_an_iteration_spends_as_many_rollouts_as_other_learners():
    training = SMALL.start(problem(), streams_of(0))
    spent = []
    for _ in range(3):
        training.advance()
        spent.append(training.spent)
    assert [s.rollouts for s in spent] == [4, 6, 8]
    assert [s.steps for s in spent] == [600, 900, 1200]


@pytest.mark.parametrize("name", ["ppo", "ppo-ending"])
def test_the_model_has_the_numbers_of_the_papers_appendix(name):
    config = dataclasses.replace(experiment("reacher").algorithm(name), environment=ENVIRONMENT)
    model = config.start(problem(), streams_of(0))._model
    for network in (model.policy.mlp_extractor.policy_net, model.policy.mlp_extractor.value_net):
        assert [type(layer).__name__ for layer in network] == ["Linear", "Tanh", "Linear", "Tanh"]
        assert [layer.out_features for layer in network[::2]] == [164, 164]
    assert torch.equal(model.policy.log_std.exp(), torch.ones(2))
    assert (model.ent_coef, model.gamma, model.gae_lambda) == (1e-3, 0.999, 1.0)
    assert model.n_epochs == 15
    assert (model.n_envs, model.n_steps) == (8, 450)
    assert 8 * 450 / model.batch_size == 5  # minibatches


def test_ppo_spends_the_steps_of_the_episodic_learners(monkeypatch):
    reacher = experiment("reacher")
    config = dataclasses.replace(reacher.algorithm("ppo"), environment=ENVIRONMENT)
    training = config.start(problem(), streams_of(0))

    def no_learning(_):
        training._updates += 1
        return []

    monkeypatch.setattr(type(training), "_update", no_learning)
    for _ in range(reacher.iterations):
        training.advance()
    # 400 iterations, and 9 batches before them, of 50 rollouts of 150 steps; 3600 an update.
    assert 3_067_500 <= training.spent.steps < 3_067_500 + 3600
    assert training.spent.steps == 853 * 3600
    assert training.spent.rollouts == 853 * 24


def test_global_generators_are_left_alone():
    before = np.random.get_state()[1].copy(), torch.get_rng_state()
    training = SMALL.start(problem(), streams_of(0))
    training.advance()
    np.testing.assert_array_equal(np.random.get_state()[1], before[0])
    assert torch.equal(torch.get_rng_state(), before[1])
    np.random.random()
    torch.rand(1)  # and what others draw does not matter
    undisturbed = SMALL.start(problem(), streams_of(0))
    undisturbed.advance()
    assert training.advance() == undisturbed.advance()


def test_the_stored_policy_answers_as_the_trained_network():
    training = SMALL.start(problem(), streams_of(0))
    training.advance()
    observations = np.random.default_rng(0).normal([1.3, 0, 0.8, -0.5], 0.2, size=(20, 4))
    normalised = training._environment.normalize_obs(observations)
    with torch.no_grad():
        tensor = torch.as_tensor(normalised, dtype=torch.float32)
        expected = training._model.policy.get_distribution(tensor).distribution
    policy = training.policy
    np.testing.assert_allclose(policy.mean(observations), expected.mean.numpy(), atol=1e-5)
    np.testing.assert_allclose(policy.std, expected.stddev[0].numpy(), rtol=1e-6)
    assert policy.entropy == pytest.approx(float(expected.entropy()[0].sum()), rel=1e-5)


def test_runs_are_stored_continued_tabled_and_packed_like_others(tmp_path):
    run(EXPERIMENT, seeds=2, iterations=2, out=tmp_path / "a", workers=1)
    continued = run(EXPERIMENT, seeds=2, out=tmp_path / "a", workers=1)
    whole = run(EXPERIMENT, seeds=2, out=tmp_path / "b", workers=2)
    for name in ("metrics.jsonl", "result.json", "policy.npz", "final.npz"):
        at = f"step-by-step/ppo/seed-001/{name}"
        assert (tmp_path / "a" / at).read_bytes() == (tmp_path / "b" / at).read_bytes(), name
    group = whole["step-by-step"]["ppo"]
    np.testing.assert_array_equal(group.reward, continued["step-by-step"]["ppo"].reward)
    folder = tmp_path / "a" / "step-by-step" / "ppo" / "seed-000"
    stored = read_run(folder)
    assert stored.trajectories.shape == (10, 151, 2)
    result = json.loads((folder / "result.json").read_text())
    assert result["steps"] == 1500
    assert {"torch", "gymnasium", "stable_baselines3"} <= set(result["versions"])
    write_packed(list(group.runs), tmp_path / "c.packed")
    seen = np.random.default_rng(0).normal([1.3, 0, 0.8, -0.5], 0.2, size=(5, 4))
    unpacked = read_packed(tmp_path / "c.packed")[0].policy
    np.testing.assert_allclose(
        unpacked.mean(seen), load_policy(folder / "policy.npz").mean(seen), atol=0.01
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"minibatches": 7}, "minibatches must divide the 300 steps of an update; got 7"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1; got 0"),
        ({"learning_rate": -1.0}, "learning_rate"),
    ],
)
def test_bad_numbers_are_named(change, words):
    with pytest.raises(ValueError, match=words):
        PPO(**{"environment": ENVIRONMENT, "environments": 2, "steps": 150, **change})


def test_a_task_without_steps_is_refused():
    gate = Problem(Gate(), Gaussian([0, 0.25], np.diag([7, 0.003])))
    with pytest.raises(ValueError, match="step by step for PPO; Gate cannot"):
        SMALL.start(gate, streams_of(0))
