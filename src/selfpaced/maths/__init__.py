"""The paper's mathematics as pure functions and frozen values; imports NumPy and SciPy only."""
