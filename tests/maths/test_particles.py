"""Particles: their density, their KL, and the mastery rule that moves them."""

import numpy as np
import pytest

from selfpaced import Box, Categories, Constrained, MasteryRule, Product
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.particle_rule import ParticleMover
from selfpaced.maths.particles import Particles
from selfpaced.maths.transport import matching, wasserstein

UNIT = Box([0.0, 0.0], [1.0, 1.0])
N = 64


def cloud(centre, seed=0, spread=0.05):
    return np.clip(np.random.default_rng(seed).normal(centre, spread, size=(N, 2)), 0.0, 1.0)


def mover(aims, start, rule=None, space=UNIT):
    def draw(n, rng):
        return aims[rng.integers(len(aims), size=n)]

    return ParticleMover(rule or MasteryRule(), space, aims, start, draw)


def beside_the_wall(contexts):
    return np.abs(contexts[:, 0] - 0.5) > 0.15


def test_particles_that_cross_a_wall_are_never_proposed_inside():
    space = Constrained(UNIT, beside_the_wall)
    moved = mover(cloud(0.85), cloud(0.15), space=space)
    rng, inside = np.random.default_rng(0), 0
    for _ in range(60):
        moved.move("on")
        drawn = moved.contexts.sample(100, rng)
        assert beside_the_wall(drawn).all()
        inside = max(inside, int((~beside_the_wall(moved.contexts.contexts)).sum()))
    assert inside > N // 2  # most of them went through the wall together
    assert moved.distance < 0.01


def test_contexts_of_particles_inside_a_wall_are_the_nearest_beside_it():
    space = Constrained(UNIT, beside_the_wall)
    contexts = Particles(space, np.tile([0.45, 0.8], (N, 1)), 0.01)
    drawn = contexts.sample(50, np.random.default_rng(0))
    assert beside_the_wall(drawn).all()
    assert np.linalg.norm(drawn - [0.35, 0.8], axis=1).max() < 0.1


def test_one_particle_has_the_density_and_kl_of_its_gaussian():
    one, other = (Particles(UNIT, np.array([[x, 0.5]]), 0.1) for x in (0.3, 0.4))
    points = UNIT.uniform(50, np.random.default_rng(0))
    exact = Gaussian([0.3, 0.5], 0.01 * np.eye(2))
    np.testing.assert_allclose(one.log_prob(points), exact.log_prob(points))
    many = Particles(UNIT, np.tile([0.3, 0.5], (4000, 1)), 0.1)
    assert many.kl(many) == 0.0
    shifted = Gaussian([0.4, 0.5], 0.01 * np.eye(2))
    assert many.kl(other) == pytest.approx(exact.kl(shifted), rel=0.1)


def test_transport_matches_what_was_shuffled():
    points = cloud(0.5)
    order = np.random.default_rng(1).permutation(N)
    np.testing.assert_array_equal(points[order][matching(points, points[order])], points)
    assert wasserstein(points, points[order]) == pytest.approx(0.0, abs=1e-12)
    assert wasserstein(points, points + np.array([0.3, 0.4])) == pytest.approx(0.5)


def test_no_step_is_longer_than_the_rule_allows_and_all_lead_to_the_target():
    both = np.concatenate([cloud(0.1)[: N // 2], cloud(0.9)[: N // 2]])
    moving = mover(both, cloud(0.5))
    distances = [moving.distance]
    while moving.contexts.draw is None:
        before = moving.contexts
        moving.move("on")
        assert moving.contexts.kl(before) <= 0.1 + 1e-9 or moving.contexts.draw is not None
        distances.append(moving.distance)
        assert len(distances) < 100
    assert distances[-1] == 0.0
    assert (np.diff(distances) <= 1e-12).all()
    drawn = moving.contexts.sample(20, np.random.default_rng(0))
    assert {tuple(row) for row in drawn} <= {tuple(row) for row in both}


def test_modes_stay_apart_on_the_way():
    both = np.concatenate([cloud(0.1)[: N // 2], cloud(0.9)[: N // 2]])
    moving = mover(both, cloud(0.5, spread=0.2))
    for _ in range(12):
        moving.move("on")
    middle = np.abs(moving.contexts.places.mean(axis=1) - 0.5) < 0.05
    assert middle.mean() < 0.1


def test_a_step_back_goes_to_what_was_mastered_last():
    moving = mover(cloud(0.9), cloud(0.2))
    mastered = moving.contexts.places
    moving.move("on")
    gone = moving.contexts.places
    moving.move("back")
    back = np.abs(moving.contexts.places - mastered).sum()
    assert back < 0.05 * np.abs(gone - mastered).sum()


def test_a_search_goes_where_the_weights_are():
    moving = mover(cloud(0.9), UNIT.uniform(N, np.random.default_rng(0)))
    tried = UNIT.uniform(200, np.random.default_rng(1))
    for _ in range(30):
        moving.follow_search(tried, np.exp(20 * tried[:, 0]))
    assert moving.contexts.mean[0] > 0.85


def test_a_restored_mover_goes_on_as_before():
    whole, resumed = (mover(cloud(0.9), cloud(0.2)) for _ in range(2))
    for _ in range(30):
        whole.move("on")
    resumed.restore(whole.state())
    for move in ("on", "back", "on", "on"):
        whole.move(move)
        resumed.move(move)
        np.testing.assert_array_equal(whole.contexts.places, resumed.contexts.places)
        assert whole.contexts.deviation == resumed.contexts.deviation
        assert (whole.contexts.draw is None) == (resumed.contexts.draw is None)


def test_particles_change_their_category_on_the_way():
    space = Product(Categories("a", "b"), Box([0.0], [1.0]))
    start = np.column_stack([np.zeros(N), np.full(N, 0.5)])
    aims = np.column_stack([np.ones(N), np.full(N, 0.5)])
    moving = ParticleMover(MasteryRule(), space, aims, start, lambda n, rng: aims[:n])
    shares = []
    while moving.contexts.draw is None:
        moving.move("on")
        shares.append(float(moving.contexts.contexts[:, 0].mean()))
    assert shares[0] == 0.0
    assert shares[-1] == 1.0


def out_of_reach_above_half(contexts):
    return (contexts[:, 0] < 0.5) * 1.0


def taught_half(rule=None, updates=200):
    """A mover whose pupil succeeds below 0.5 and never above, with half of the target above."""
    aims = np.concatenate([cloud([0.2, 0.9])[: N // 2], cloud([0.8, 0.9])[: N // 2]])
    moving, rng = mover(aims, cloud([0.4, 0.1]), rule), np.random.default_rng(0)
    shares = []
    for _ in range(updates):
        tried = moving.contexts.sample(50, rng)
        successes = out_of_reach_above_half(tried)
        shares.append(successes.mean())
        before = moving.contexts
        moving.move_each(moving.decide(shares[-1]), tried, successes)
        assert moving.contexts.kl(before) <= 0.1 + 1e-9
    return moving, aims, shares


def test_what_can_be_reached_of_a_target_is_reached_although_the_rest_cannot():
    moving, aims, shares = taught_half()
    reachable = out_of_reach_above_half(aims) == 1.0
    apart = np.linalg.norm(aims[reachable][:, None] - moving.contexts.places, axis=2).min(axis=1)
    assert (apart < 0.02).mean() > 0.8
    assert np.mean(shares[-50:]) > 0.5  # and few episodes are spent where nothing succeeds


def test_particles_at_their_aims_narrow_while_others_are_on_their_way():
    moving, _, _ = taught_half()
    deviations = np.array(moving.contexts.deviation)
    assert deviations.min() < 0.02
    assert deviations.max() == pytest.approx(0.05)
    drawn = moving.contexts.sample(4000, np.random.default_rng(0))
    spread = np.abs(moving.contexts.log_prob(drawn)).max()
    assert np.isfinite(spread)


def test_a_density_with_a_deviation_for_each_particle_is_the_mean_of_theirs():
    places, deviations = cloud(0.5), np.linspace(0.02, 0.2, N)
    points = UNIT.uniform(50, np.random.default_rng(0))
    each = [Gaussian(x, h**2 * np.eye(2)) for x, h in zip(places, deviations, strict=True)]
    exact = np.log(np.mean([np.exp(g.log_prob(points)) for g in each], axis=0))
    found = Particles(UNIT, places, deviations).log_prob(points)
    np.testing.assert_allclose(found, exact, rtol=1e-9)


def test_a_mover_with_several_deviations_is_restored_exactly():
    rule = MasteryRule(retreats=True)
    moving, aims, _ = taught_half(rule, updates=150)
    restored = mover(aims, cloud([0.4, 0.1]), rule)
    restored.restore(moving.state())
    for move in ("on", "back", "stay", "on"):
        tried = moving.contexts.sample(50, np.random.default_rng(1))
        for one in (moving, restored):
            one.move_each(move, tried, out_of_reach_above_half(tried))
        np.testing.assert_array_equal(moving.contexts.places, restored.contexts.places)
        np.testing.assert_array_equal(moving.contexts.deviation, restored.contexts.deviation)
    restored.state()
