"""Metrics of one update, under the same names for every learner."""

from selfpaced.maths.kl_bounded_fit import JointFit
from selfpaced.maths.reps import Weights, effective_samples
from selfpaced.types import Metrics


def dual_metrics(weights: Weights) -> Metrics:
    """What to record of a dual's minimum."""
    return {
        "eta_p": weights.eta_p,
        "ess_policy": effective_samples(weights.policy),
        "newton_steps": weights.steps,
        "newton_gradient": weights.gradient,
        "dual_unconverged": float(not weights.converged),
        "epsilon_clamped": float(weights.clamped),
    }


def joint_metrics(weights: Weights, fit: JointFit) -> Metrics:
    """What to record of an update of policy and contexts together."""
    return {
        **dual_metrics(weights),
        "eta_mu": weights.eta_mu,
        "kl_policy": fit.kl_policy,
        "kl_contexts": fit.kl_contexts,
        "ess_contexts": effective_samples(weights.contexts),
        "fit_kept_old": float(fit.kept_old),
    }
