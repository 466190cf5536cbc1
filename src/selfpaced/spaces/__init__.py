"""Which contexts exist: numbers in a box, whole numbers, categories, lists of tasks, products.

Every space is a `Box`: its contexts are rows of floats, of which only some exist. `decode` gives
the value that a row stands for.
"""

from selfpaced.spaces.constrained import Constrained, Infeasible
from selfpaced.spaces.discrete import Categories, Integers, TaskSet
from selfpaced.spaces.product import Product
from selfpaced.spaces.space import checked_space, space_from

__all__ = [
    "Categories",
    "Constrained",
    "Infeasible",
    "Integers",
    "Product",
    "TaskSet",
    "checked_space",
    "space_from",
]
