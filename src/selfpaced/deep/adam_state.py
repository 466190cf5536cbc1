"""The state of torch's Adam as a list of tensors, which can be copied to arrays and back."""

# torch is imported when a training starts, and is partly untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from typing import Any


def adam_tensors(optimiser: Any) -> list[Any]:
    """Step count, mean and mean square of the gradients of each parameter, in a fixed order."""
    found: list[Any] = []
    for parameter in optimiser.param_groups[0]["params"]:
        if parameter in optimiser.state:
            adam = optimiser.state[parameter]
            found += [adam["step"], adam["exp_avg"], adam["exp_avg_sq"]]
    return found


def begin_adam(torch: Any, optimiser: Any, *, used: bool) -> None:
    """Make room for the state that `adam_tensors` lists; before its first step Adam has none."""
    optimiser.state.clear()
    if used:
        for parameter in optimiser.param_groups[0]["params"]:
            optimiser.state[parameter] = {
                "step": torch.tensor(0.0),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
