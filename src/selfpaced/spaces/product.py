"""Several spaces side by side: the columns of one follow those of the one before."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.maths.arrays import Array, BoolArray, IntArray, check_vector
from selfpaced.maths.box import Box
from selfpaced.names import named
from selfpaced.spaces.columns import ColumnSpace
from selfpaced.spaces.constrained import Constrained


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Product(ColumnSpace):
    """Several spaces side by side, named or not.

    >>> from selfpaced import Box, Categories, Integers, Product
    >>> walks = Product(terrain=Categories("flat", "stairs"), steps=Integers(1, 9),
    ...                 slope=Box([-0.5], [0.5]))
    >>> walks.encode({"terrain": "stairs", "steps": 4, "slope": 0.25})
    array([1.  , 4.  , 0.25])
    >>> walks.decode([1, 4, 0.25])
    {'terrain': 'stairs', 'steps': 4, 'slope': 0.25}

    Without names, `decode` gives a tuple. A part that is a box of one dimension gives a float.
    """

    parts: tuple[Box, ...]
    """The spaces, in the order of their columns."""
    names: tuple[str, ...]
    """The name of each part; empty if they have none."""

    def __init__(self, *parts: Box, **named_parts: Box) -> None:
        if bool(parts) == bool(named_parts):
            raise ValueError(
                "parts of a Product must be all named or all not named, and at least one; "
                f"got {len(parts)} without a name and {len(named_parts)} with one"
            )
        spaces = tuple(parts) or tuple(named_parts.values())
        names = tuple(named_parts) or tuple(str(k) for k in range(len(spaces)))
        for name, part in zip(names, spaces, strict=True):
            if not isinstance(part, Box):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ValueError(f"part {name} of a Product must be a space; got {part!r}")
            if isinstance(part, Constrained):
                raise ValueError(
                    f"part {name} of a Product must not be Constrained; put Constrained around the "
                    f"Product; got {part!r}"
                )
        lows, highs = [part.low for part in spaces], [part.high for part in spaces]
        super().__init__(np.concatenate(lows), np.concatenate(highs))
        object.__setattr__(self, "parts", spaces)
        object.__setattr__(self, "names", tuple(named_parts))

    def __repr__(self) -> str:
        if not self.names:
            return f"Product({', '.join(repr(part) for part in self.parts)})"
        pairs = zip(self.names, self.parts, strict=True)
        return f"Product({', '.join(f'{name}={part!r}' for name, part in pairs)})"

    @cached_property
    def whole(self) -> BoolArray:
        """(d,): True for each column that holds whole numbers only."""
        return np.concatenate(
            [
                part.whole if isinstance(part, ColumnSpace) else np.zeros(part.dimension, bool)
                for part in self.parts
            ]
        )

    @cached_property
    def categories(self) -> IntArray:
        """(d,): the number of categories of each column; 0 for columns of numbers."""
        return np.concatenate(
            [
                part.categories
                if isinstance(part, ColumnSpace)
                else np.zeros(part.dimension, dtype=np.int64)
                for part in self.parts
            ]
        )

    def _columns(self) -> list[slice]:
        """Where the columns of each part are."""
        ends = np.cumsum([part.dimension for part in self.parts]).tolist()
        return [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]

    def decode(self, row: ArrayLike) -> Any:
        """The values that `row` (d,) stands for, by name; a tuple if the parts have no names."""
        numbers = check_vector("context", row, self.dimension)
        values: list[Any] = []
        for part, where in zip(self.parts, self._columns(), strict=True):
            value = part.decode(numbers[where])
            values.append(float(value[0]) if type(part) is Box and part.dimension == 1 else value)
        return dict(zip(self.names, values, strict=True)) if self.names else tuple(values)

    def encode(self, value: Any) -> Array:
        """The row (d,) of the values of all parts: a dictionary if they have names."""
        if self.names:
            if not isinstance(value, dict):
                raise ValueError(f"context must be a dictionary of {self.names}; got {value!r}")
            given: dict[Any, Any] = dict(value)  # pyright: ignore[reportUnknownArgumentType]
            for name in given:
                named("part of the context", str(name), self.names)
            missing = [name for name in self.names if name not in given]
            if missing:
                raise ValueError(f"context must have {missing[0]!r}; got {value!r}")
            values = [given[name] for name in self.names]
        else:
            values = list(value)
            if len(values) != len(self.parts):
                raise ValueError(f"context must have {len(self.parts)} values; got {value!r}")
        return np.concatenate(
            [part.encode(entry) for part, entry in zip(self.parts, values, strict=True)]
        )
