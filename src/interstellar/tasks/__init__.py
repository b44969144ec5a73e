"""Link prediction and entity alignment: the only place that knows them apart.

In: a graph or a pair of graphs, an architecture, settings. Out: networks of the right form,
trained, measured, saved and opened again.
"""
