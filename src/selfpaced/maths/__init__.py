"""The mathematics of the library: pure functions and frozen values.

This room imports NumPy and SciPy only. Docstrings cite the equations, sections and appendices of
"Self-Paced Contextual Reinforcement Learning" (Klink et al., CoRL 2019), "the paper", by number.
"""
