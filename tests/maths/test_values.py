"""Box, Gaussian, features and policy: frozen values that check what they are given."""

import numpy as np
import pytest
from scipy import stats

from selfpaced.maths.arrays import inverse
from selfpaced.maths.box import Box
from selfpaced.maths.features import (
    PolynomialFeatures,
    RBFFeatures,
    constant_features,
    default_value_features,
    features_from,
    linear_features,
    rbf_grid,
)
from selfpaced.maths.gaussian import Gaussian, gaussian_over, with_variance_floor
from selfpaced.maths.policy import LinearGaussianPolicy, constant_policy, load_policy

UNIT = Box([0.0, 0.0], [1.0, 1.0])


def rng():
    return np.random.default_rng(0)


def test_truncated_samples_follow_the_truncated_gaussian():
    box = Box([-1.0], [0.5])
    samples = Gaussian([0.0], [[1.0]]).sample(20_000, rng(), box)[:, 0]
    assert box.contains(samples[:, None]).all()
    assert stats.kstest(samples, stats.truncnorm(-1.0, 0.5).cdf).pvalue > 1e-3


def test_samples_that_never_fall_inside_are_clipped_to_the_box():
    samples = Gaussian([50.0, 0.5], np.diag([1.0, 0.01])).sample(100, rng(), UNIT)
    assert UNIT.contains(samples).all()
    assert (samples[:, 0] == 1.0).all()


def test_rows_keep_their_own_mean_when_truncated():
    means = np.repeat([[0.1, 0.1], [0.9, 0.9]], 500, axis=0)
    samples = UNIT.truncated(means, 0.05 * np.eye(2), rng())
    np.testing.assert_allclose(samples[:500].mean(axis=0), 0.1, atol=0.02)
    np.testing.assert_allclose(samples[500:].mean(axis=0), 0.9, atol=0.02)


def test_gaussian_agrees_with_scipy():
    mean, covariance = np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 1.0]])
    ours, theirs = Gaussian(mean, covariance), stats.multivariate_normal(mean, covariance)
    points = rng().normal(size=(50, 2))
    np.testing.assert_allclose(ours.log_prob(points), theirs.logpdf(points))
    assert ours.entropy == pytest.approx(theirs.entropy())
    samples = ours.sample(50_000, rng())
    np.testing.assert_allclose(samples.mean(axis=0), mean, atol=0.03)
    np.testing.assert_allclose(np.cov(samples.T), covariance, atol=0.06)


def test_kl_is_the_expected_log_ratio_and_zero_to_itself():
    p = Gaussian([0.0, 1.0], [[1.0, 0.3], [0.3, 0.5]])
    q = Gaussian([0.5, 0.8], [[1.5, -0.2], [-0.2, 0.9]])
    samples = p.sample(200_000, rng())
    assert p.kl(q) == pytest.approx((p.log_prob(samples) - q.log_prob(samples)).mean(), rel=0.02)
    assert p.kl(p) == pytest.approx(0, abs=1e-12)


def test_the_variance_floor_raises_only_what_is_below_it():
    raised = with_variance_floor(Gaussian([0, 0], [[1.0, 0.01], [0.01, 0.001]]), 0.1)
    np.testing.assert_allclose(raised.covariance, [[1.0, 0.01], [0.01, 0.1]])


def test_values_cannot_be_edited():
    gaussian = gaussian_over(UNIT)
    with pytest.raises(ValueError, match="read-only"):
        gaussian.mean[0] = 3.0
    with pytest.raises(AttributeError):
        gaussian.mean = np.zeros(2)  # type: ignore[misc]


def test_polynomial_features_are_monomials():
    phi = PolynomialFeatures(2, 2)(np.array([[2.0, 3.0]]))
    np.testing.assert_allclose(phi, [[1, 2, 3, 4, 6, 9]])
    np.testing.assert_allclose(linear_features(2)(np.array([[2.0, 3.0]])), [[1, 2, 3]])
    np.testing.assert_allclose(constant_features(2)(np.array([[2.0, 3.0]])), [[1]])


def test_radial_features_are_normalised_activations_and_a_constant():
    features = rbf_grid(Box([-5.0, 0.1], [5.0, 0.5]), (10, 5), (0.6, 150.0))
    assert features.outputs == 51
    contexts = np.array([[0.3, 0.2], [-4.0, 0.45]])
    offsets = contexts[:, None] - features.centres[None]
    activation = np.exp(-(offsets**2 @ np.array([0.6, 150.0])))
    expected = activation / activation.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(features(contexts)[:, :-1], expected, rtol=1e-12)
    np.testing.assert_array_equal(features(contexts)[:, features.constant], 1.0)
    np.testing.assert_allclose(np.unique(features.centres[:, 0])[:2], [-5 + 10 / 11, -5 + 20 / 11])


def test_radial_features_far_from_every_centre_stay_finite():
    features = rbf_grid(UNIT, (3, 3), (1e4, 1e4))
    assert np.isfinite(features(np.array([[1e3, -1e3]]))).all()


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 6])
def test_default_value_features_stay_few(dimension):
    features = default_value_features(Box([0.0] * dimension, [1.0] * dimension))
    assert features.inputs == dimension
    assert features.outputs <= 65


@pytest.mark.parametrize(
    "features", [PolynomialFeatures(2, 3), rbf_grid(UNIT, (3, 2)), RBFFeatures([[0, 0]], [1, 2])]
)
def test_features_survive_their_spec(features):
    contexts = rng().normal(size=(5, 2))
    np.testing.assert_array_equal(features_from(features.spec())(contexts), features(contexts))


@pytest.mark.parametrize("features", [linear_features(2), rbf_grid(UNIT, (3, 2))])
def test_a_constant_policy_ignores_the_context(features):
    policy = constant_policy(features, Gaussian([1.0, 2.0, 3.0], np.eye(3)))
    np.testing.assert_allclose(policy.mean(rng().normal(size=(4, 2))), [[1, 2, 3]] * 4)


def test_policy_means_samples_and_densities_agree():
    policy = LinearGaussianPolicy(
        linear_features(1), [[1.0, 2.0], [0.0, -1.0]], [[0.5, 0.1], [0.1, 0.2]]
    )
    np.testing.assert_allclose(policy.mean([3.0]), [7.0, -3.0])
    contexts = np.full((40_000, 1), 3.0)
    thetas = policy.sample(contexts, rng())
    np.testing.assert_allclose(thetas.mean(axis=0), [7.0, -3.0], atol=0.02)
    one = Gaussian([7.0, -3.0], policy.covariance)
    np.testing.assert_allclose(policy.log_prob(thetas[:9], contexts[:9]), one.log_prob(thetas[:9]))
    assert policy.entropy == pytest.approx(one.entropy)


def test_a_saved_policy_comes_back_bit_for_bit(tmp_path):
    policy = LinearGaussianPolicy(
        rbf_grid(UNIT, (2, 2)), rng().normal(size=(3, 5)), np.diag([0.1, 0.2, 1 / 3])
    )
    policy.save(tmp_path / "policy")
    loaded = load_policy(tmp_path / "policy.npz")
    contexts = rng().uniform(size=(7, 2))
    np.testing.assert_array_equal(loaded.mean(contexts), policy.mean(contexts))
    np.testing.assert_array_equal(loaded.covariance, policy.covariance)


def test_a_widened_policy_has_the_same_mean_and_larger_deviations():
    policy = constant_policy(linear_features(1), Gaussian([1.0, 2.0], np.diag([1.0, 4.0])))
    wide = policy.widened(3.0)
    np.testing.assert_array_equal(wide.A, policy.A)
    np.testing.assert_allclose(wide.covariance, 9 * policy.covariance)


def test_files_that_are_no_policies_are_refused(tmp_path):
    (tmp_path / "junk.npz").write_bytes(b"PK not really")
    with pytest.raises(ValueError, match=r"junk.npz must be a saved policy; "):
        load_policy(tmp_path / "junk.npz")
    np.savez(tmp_path / "other.npz", x=np.ones(3))
    with pytest.raises(ValueError, match=r"other.npz must be a saved policy; it has no 'format'"):
        load_policy(tmp_path / "other.npz")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Box([0, 1], [1]), r"high must be \(2,\); got shape \(1,\)"),
        (lambda: Box([0, 1], [1, 1]), r"low must be below high .* low=\[0.0, 1.0\]"),
        (lambda: Box([0, np.nan], [1, 1]), r"low must be finite; got \[0.0, nan\]"),
        (lambda: UNIT.check("contexts", [[0.5, 0.5], [0.5, 2.0]]), r"first row 1: \[0.5, 2.0\]"),
        (lambda: UNIT.check("contexts", [0.5, 0.5]), r"contexts must be \(n, 2\).* got \(2,\)"),
        (lambda: UNIT.check("contexts", [[0.5, np.inf]]), r"contexts must be finite; 1 of 1"),
        (lambda: Gaussian([0, 0], np.eye(3)), r"covariance must be \(2, 2\); got \(3, 3\)"),
        (lambda: Gaussian([0, 0], [[1, 2], [2, 1]]), r"positive definite; .* eigenvalue is -1"),
        (lambda: Gaussian([0, 0], [[1, 0.5], [0, 1]]), "covariance must be symmetric"),
        (lambda: RBFFeatures([[0.0]], [0.0]), r"precision must be above 0; got \[0.0\]"),
        (lambda: PolynomialFeatures(2, -1), "degree must be a whole number of at least 0; got -1"),
        (lambda: rbf_grid(UNIT, (3,)), r"counts must have 2 entries; got \(3,\)"),
        (lambda: features_from({"kind": "fourier"}), r"features must be one of .*; got 'fourier'"),
        (
            lambda: LinearGaussianPolicy(linear_features(2), np.ones((3, 2)), np.eye(3)),
            r"A must be finite and \(d, 3\).*got shape \(3, 2\)",
        ),
        (
            lambda: constant_policy(linear_features(2), Gaussian([0], [[1]])).mean([1.0, 2.0, 3.0]),
            r"contexts must be \(2,\); got shape \(3,\)",
        ),
    ],
)
def test_bad_input_gets_an_error_that_names_argument_rule_and_value(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("dimension", [1, 2, 3, 8])
def test_the_inverse_is_that_of_numpy_and_of_no_singular_matrix(dimension):
    matrix = rng().normal(size=(dimension, dimension))
    np.testing.assert_allclose(inverse(matrix), np.linalg.inv(matrix), rtol=1e-10)
    assert inverse(matrix).flags.c_contiguous
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        inverse(np.zeros((dimension, dimension)))
