"""Relational paths: triplets joined head to tail, sampled once and then fixed.

In: a graph and the settings of the biased walk. Out: a `PathTable` with its hash.
Knows nothing of architectures, models or training.

`walk_graph` adds inverses and exchanges seeds, `walk_index` sorts the edges, `biased_walk`
draws, `path_table` holds and stores what came out.
"""
