"""The policy of the paper: linear in features of the context, Gaussian around that."""

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from selfpaced.maths.arrays import (
    Array,
    check_covariance,
    check_positive,
    check_vector,
    frozen,
    solve_lower,
)
from selfpaced.maths.box import Box
from selfpaced.maths.features import Features, features_from, linear_features
from selfpaced.maths.gaussian import (
    Gaussian,
    gaussian_over,
    log_det,
    normal_entropy,
    normal_log_prob,
)
from selfpaced.maths.network import NETWORK_FORMAT, NetworkPolicy, network_from

FORMAT = "selfpaced-policy-1"


@dataclass(frozen=True, eq=False)
class LinearGaussianPolicy:
    """pi(theta | c) = N(theta | A phi(c), covariance)."""

    features: Features  # phi: (n, inputs) -> (n, m)
    A: Array  # (d, m)
    covariance: Array  # (d, d)
    chol: Array  # (d, d), lower: covariance = chol chol^T

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

    @property
    def dimension(self) -> int:
        return len(self.A)

    def mean(self, contexts: ArrayLike) -> Array:
        """A phi(c): (n, d) for contexts (n, inputs), (d,) for one context (inputs,)."""
        rows = np.asarray(contexts, dtype=float)
        if rows.ndim <= 1:
            return self.mean(check_vector("contexts", rows, self.features.inputs)[None])[0]
        if rows.ndim != 2 or rows.shape[1] != self.features.inputs:
            raise ValueError(f"contexts must be (n, {self.features.inputs}); got {rows.shape}")
        return self.features(rows) @ self.A.T

    def sample(self, contexts: Array, rng: np.random.Generator, box: Box | None = None) -> Array:
        """One theta per context (n, d), truncated to `box` if one is given."""
        means = self.mean(contexts)
        if box is not None:
            return box.truncated(means, self.chol, rng)
        return means + rng.standard_normal(means.shape) @ self.chol.T

    def log_prob(self, thetas: Array, contexts: Array) -> Array:
        """(n,) log-densities; of the Gaussian itself, not of a truncated one."""
        return normal_log_prob(thetas - self.mean(contexts), self.chol)

    def mean_kl(self, other: "LinearGaussianPolicy", contexts: Array) -> float:
        """KL(self || other), the mean over `contexts` (n, inputs)."""
        spread = solve_lower(other.chol, self.chol)
        apart = solve_lower(other.chol, (other.mean(contexts) - self.mean(contexts)).T)
        squares = float((spread**2).sum() + (apart**2).sum(axis=0).mean())
        return 0.5 * (squares - self.dimension) + log_det(other.chol) - log_det(self.chol)

    @property
    def entropy(self) -> float:
        """In nats; the same for every context."""
        return normal_entropy(self.chol)

    def widened(self, factor: float) -> "LinearGaussianPolicy":
        """The same mean with every standard deviation times `factor`.

        For starting again from a learned policy, e.g. on the real robot.
        """
        variance = check_positive("factor", factor) ** 2
        return LinearGaussianPolicy(self.features, self.A, variance * self.covariance)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The policy as plain arrays, which `load_policy` understands."""
        return {
            "format": np.array(FORMAT),
            "features": np.array(json.dumps(self.features.spec())),
            "A": self.A,
            "covariance": self.covariance,
        }

    def save(self, path: str | Path) -> None:
        """Write the policy as one small .npz file."""
        np.savez(_npz(path), allow_pickle=False, **self.arrays())


Policy = LinearGaussianPolicy | NetworkPolicy  # of episodes; of steps


def load_policy(path: str | Path) -> Any:
    """The policy that `save` wrote to `path`, or a run kept there.

    A `LinearGaussianPolicy`, or the `NetworkPolicy` of a run that learned step by step.
    """
    file = _npz(path)
    if file.exists() and not zipfile.is_zipfile(file):
        raise ValueError(f"path must be a saved policy; {file} is damaged or none")
    try:
        with np.load(file, allow_pickle=False) as arrays:
            found = str(arrays["format"]) if "format" in arrays else ""
            if found not in (FORMAT, NETWORK_FORMAT):
                raise ValueError(f"path must be a saved policy ({FORMAT}); {file} is not")
            return policy_from(dict(arrays))
    except (zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"path must be a saved policy; {file} is damaged: {error}") from error


def policy_from(arrays: dict[str, NDArray[Any]]) -> Policy:
    """The policy whose `arrays` these are."""
    if str(arrays["format"]) == NETWORK_FORMAT:
        return network_from(arrays)
    features = features_from(json.loads(str(arrays["features"])))
    return LinearGaussianPolicy(features, arrays["A"], arrays["covariance"])


def constant_policy(features: Features, gaussian: Gaussian) -> LinearGaussianPolicy:
    """The policy that draws theta from `gaussian` whatever the context."""
    A = np.zeros((gaussian.dimension, features.outputs))
    A[:, features.constant] = gaussian.mean
    return LinearGaussianPolicy(features, A, gaussian.covariance)


def default_policy(theta_space: Box, contexts: int) -> LinearGaussianPolicy:
    """A first policy over a box of parameters: its centre, a quarter of its width as deviation."""
    return constant_policy(linear_features(contexts), gaussian_over(theta_space))


def _npz(path: str | Path) -> Path:
    """`path` with the ending that np.savez would add, so that save and load agree."""
    path = Path(path)
    return path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
