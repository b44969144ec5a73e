"""Knowledge graphs as integers with names.

In: files in any of the known formats, frames, or iterables of names. Out: a
`KnowledgeGraph` (one graph, three splits) or a `GraphPair` (two graphs and their
known pairs), both frozen, made of NumPy arrays and vocabularies. Knows nothing of
torch, paths, models or tasks.
"""
