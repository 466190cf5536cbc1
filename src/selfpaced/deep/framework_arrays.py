"""Arrays of NumPy, torch and JAX alike, without depending on any of the latter two."""

from base64 import b64decode, b64encode
from typing import Any

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.types import AnyArray


def as_numpy(values: Any) -> AnyArray:
    """`values` as a NumPy array: a number, a list, or an array of NumPy, torch or JAX.

    Tensors of torch may be on any device and need gradients.
    """
    if type(values) is np.ndarray:
        return values
    return np.asarray(values.detach().cpu() if _is_tensor(values) else values)


def in_the_framework_of(like: Any, values: Array) -> Any:
    """`values` as an array of the framework of `like`, on its device; NumPy's for a list.

    Frameworks other than NumPy get their own default precision, which is single.
    """
    if isinstance(like, np.ndarray | np.generic):
        return values
    if _is_tensor(like):
        import torch

        return torch.as_tensor(values, dtype=torch.get_default_dtype(), device=like.device)
    if not hasattr(like, "__array_namespace__"):
        return values
    return like.__array_namespace__().asarray(values, device=like.device)  # JAX, CuPy and others


def array_as_text(array: AnyArray) -> dict[str, Any]:
    """`array` as whole numbers and text, exactly: checkpoints of every framework can hold it."""
    return {
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "base64": b64encode(np.ascontiguousarray(array).tobytes()).decode(),
    }


def array_from_text(name: str, value: Any) -> AnyArray:
    """The array that `array_as_text` has written; a ValueError that names it if it is damaged."""
    try:
        flat = np.frombuffer(b64decode(value["base64"]), dtype=np.dtype(value["dtype"]))
        return flat.reshape(tuple(value["shape"])).copy()
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"state_dict must hold whole arrays; {name!r} is damaged") from error


def _is_tensor(values: Any) -> bool:
    """True for a tensor of torch, found without importing it."""
    return type(values).__module__.partition(".")[0] == "torch" and hasattr(values, "detach")
