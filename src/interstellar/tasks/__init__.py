"""Link prediction and entity alignment: the only place that knows them apart.

In: a graph or two graphs, an architecture. Out: networks of the right form, and their metrics.
"""
