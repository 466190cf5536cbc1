"""The policy of the paper, Gaussian around a mean that is linear in features of the context.

Also: saving and loading policies, and the policies that learning starts from.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from selfpaced.maths.archives import arrays_in, damage_named
from selfpaced.maths.arrays import (
    Array,
    check_covariance,
    check_positive,
    check_vector,
    frozen,
    solve_lower,
)
from selfpaced.maths.box import Box
from selfpaced.maths.categorical_network import CATEGORICAL_FORMAT, categorical_from
from selfpaced.maths.features import Features, default_policy_features, features_from
from selfpaced.maths.gaussian import (
    Gaussian,
    gaussian_over,
    log_det,
    normal_entropy,
    normal_log_prob,
)
from selfpaced.maths.network import NETWORK_FORMAT, NetworkPolicy, network_from
from selfpaced.maths.squashed_network import SQUASHED_FORMAT, SquashedNetworkPolicy, squashed_from

FORMAT = "selfpaced-policy-1"


@dataclass(frozen=True, eq=False, repr=False)
class LinearGaussianPolicy:
    """The policy pi(theta | c) = N(theta | A phi(c), covariance) of the paper (Sec. 4).

    It draws the parameters theta of one episode, given the context c.
    """

    features: Features
    """phi, which maps contexts (n, d_c) to features (n, m)."""
    A: Array
    """(d, m): the mean of theta is A phi(c)."""
    covariance: Array
    """(d, d): the covariance of theta, Sigma_theta in the paper; the same for every context."""
    chol: Array
    """(d, d): the lower Cholesky factor L of the covariance, L L^T = covariance; computed."""

    def __init__(self, features: Features, A: ArrayLike, covariance: ArrayLike) -> None:
        gains = np.asarray(A, dtype=float)
        if gains.ndim != 2 or gains.shape[1] != features.outputs or not np.isfinite(gains).all():
            raise ValueError(
                f"A must be finite and (d, {features.outputs}), one column per feature; "
                f"got shape {gains.shape}"
            )
        matrix, chol = check_covariance("covariance", covariance, len(gains))
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "A", frozen(gains))
        object.__setattr__(self, "covariance", frozen(matrix))
        object.__setattr__(self, "chol", frozen(chol))

    @classmethod
    def trusted(
        cls, features: Features, A: Array, covariance: Array, chol: Array
    ) -> "LinearGaussianPolicy":
        """The policy with these fields, which are not checked; `chol` is that of `covariance`."""
        policy = object.__new__(cls)
        object.__setattr__(policy, "features", features)
        for name, value in (("A", A), ("covariance", covariance), ("chol", chol)):
            object.__setattr__(policy, name, frozen(value))
        return policy

    def __repr__(self) -> str:
        return (
            f"LinearGaussianPolicy({self.features.inputs} context dimensions, "
            f"{self.dimension} parameters, entropy {self.entropy:.3g} nats)"
        )

    @property
    def dimension(self) -> int:
        """d: the number of parameters, the length of theta."""
        return len(self.A)

    def mean(self, contexts: ArrayLike) -> Array:
        """A phi(c): (n, d) for contexts (n, d_c), or (d,) for a single context (d_c,)."""
        rows = np.asarray(contexts, dtype=float)
        if rows.ndim <= 1:
            return self.mean(check_vector("contexts", rows, self.features.inputs)[None])[0]
        if rows.ndim != 2 or rows.shape[1] != self.features.inputs:
            raise ValueError(f"contexts must be (n, {self.features.inputs}); got {rows.shape}")
        return self.features(rows) @ self.A.T

    def sample(self, contexts: Array, rng: np.random.Generator, box: Box | None = None) -> Array:
        """(n, d): one theta per row of `contexts` (n, d_c), truncated to `box` if one is given."""
        means = self.mean(contexts)
        if box is not None:
            return box.truncated(means, self.chol, rng)
        return means + rng.standard_normal(means.shape) @ self.chol.T

    def log_prob(self, thetas: Array, contexts: Array) -> Array:
        """(n,): log-densities log pi(theta | c) of `thetas` (n, d) in `contexts` (n, d_c).

        They are those of the Gaussian itself, even where its samples are truncated to a box.
        """
        return normal_log_prob(thetas - self.mean(contexts), self.chol)

    def mean_kl(self, other: "LinearGaussianPolicy", contexts: Array) -> float:
        """The mean over `contexts` (n, d_c) of KL(self(. | c) || other(. | c)), in nats."""
        spread = solve_lower(other.chol, self.chol)
        if other.features is self.features:  # then the means differ by (A' - A) phi(c)
            phi = self.features(contexts)
            apart = solve_lower(other.chol, other.A - self.A)
            apart_squared = float(((apart @ (phi.T @ phi)) * apart).sum()) / len(phi)
        else:
            apart = solve_lower(other.chol, (other.mean(contexts) - self.mean(contexts)).T)
            apart_squared = float((apart**2).sum(axis=0).mean())
        squares = float((spread**2).sum()) + apart_squared
        return 0.5 * (squares - self.dimension) + log_det(other.chol) - log_det(self.chol)

    @property
    def entropy(self) -> float:
        """The entropy of theta, in nats; the same for every context."""
        return normal_entropy(self.chol)

    def widened(self, factor: float) -> "LinearGaussianPolicy":
        """The policy with the same mean and every standard deviation multiplied by `factor`.

        Use it to go on learning from a learned policy elsewhere, such as on the real robot.
        """
        variance = check_positive("factor", factor) ** 2
        return LinearGaussianPolicy(self.features, self.A, variance * self.covariance)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The policy as plain arrays, from which `policy_from` makes it again."""
        return {
            "format": np.array(FORMAT),
            "features": np.array(json.dumps(self.features.spec())),
            "A": self.A,
            "covariance": self.covariance,
        }

    def save(self, path: str | Path) -> None:
        """Write the policy to `path`, one small .npz file, which `load_policy` reads."""
        np.savez(_npz(path), allow_pickle=False, **self.arrays())


Policy = LinearGaussianPolicy | NetworkPolicy | SquashedNetworkPolicy
"""A policy of any kind: it chooses parameters once per episode, or an action at every step."""


def load_policy(path: str | Path) -> Any:
    """The policy in the file `path`, written by `LinearGaussianPolicy.save` or by a run.

    It is a `LinearGaussianPolicy`, or a `NetworkPolicy` or `SquashedNetworkPolicy` if the run
    learned step by step. Raise a ValueError, a `DamagedFile`, if the file is damaged or no policy.
    """
    file = _npz(path)
    content = file.read_bytes()
    with damage_named(file, "a saved policy"):
        arrays = arrays_in(content)
        known = (FORMAT, NETWORK_FORMAT, SQUASHED_FORMAT, CATEGORICAL_FORMAT)
        if str(arrays["format"]) not in known:
            raise ValueError(f"its format is not {FORMAT}")
        return policy_from(arrays)


def policy_from(arrays: dict[str, NDArray[Any]]) -> Policy:
    """The policy whose `arrays` these are, of any kind."""
    if str(arrays["format"]) == NETWORK_FORMAT:
        return network_from(arrays)
    if str(arrays["format"]) == SQUASHED_FORMAT:
        return squashed_from(arrays)
    if str(arrays["format"]) == CATEGORICAL_FORMAT:
        return categorical_from(arrays)
    features = features_from(json.loads(str(arrays["features"])))
    return LinearGaussianPolicy(features, arrays["A"], arrays["covariance"])


def constant_policy(features: Features, gaussian: Gaussian) -> LinearGaussianPolicy:
    """The policy that draws theta from `gaussian` in every context."""
    A = np.zeros((gaussian.dimension, features.outputs))
    A[:, features.constant] = gaussian.mean
    return LinearGaussianPolicy(features, A, gaussian.covariance)


def default_policy(theta_space: Box, context_space: Box) -> LinearGaussianPolicy:
    """The policy that learning starts from if none is given, linear in the context.

    In a space with categories it is linear over each category.
    In every context its mean is the centre of `theta_space`, and its standard deviations are a
    quarter of the box's width.
    """
    return constant_policy(default_policy_features(context_space), gaussian_over(theta_space))


def _npz(path: str | Path) -> Path:
    """`path` with the ending that np.savez would add, so that save and load agree."""
    path = Path(path)
    return path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
