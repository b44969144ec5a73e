"""The search space: which recurrent cells there are, and which of them are the same.

In: choices, codes, formulas. Out: frozen `Architecture` values, their canonical form,
their names, notations and drawings. Knows nothing of torch, data or training.
"""
