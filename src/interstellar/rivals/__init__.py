"""Models that people designed and the search space does not hold: one short file each.

In: sizes, triplets, what the loss is. Out: networks that say what a batch costs and answer queries.
They know neither tasks nor training. What all named models are is in `catalogue.py` (no torch).
"""
