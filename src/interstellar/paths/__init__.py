"""Relational paths: triplets joined head to tail, sampled once and then fixed.

In: a graph and the settings of the biased walk. Out: a `PathTable` with its hash.
Knows nothing of architectures, models or training.
"""
