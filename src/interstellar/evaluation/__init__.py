"""How well a trained network answers: ranks of the true answers, and metrics of the ranks.

In: logits or embeddings, and the answers that are true. Out: ranks and `Metrics`, or partners.
Knows nothing of networks, architectures, training or tasks: logits come from a function it is
given.

`ranks` places the true objects of queries and finds the best answers, `alignment` places the true
partners of entities, both in chunks and in full float32 (`chunks`). `sampled_ranks` draws a few
rivals instead. `metrics` sums ranks up, and has AUC-PR. `calibration` turns logits into
probabilities.

Embeddings of two graphs become similarities of sources to targets (`similarity`, `sinkhorn`), and
these become ranks, lists of the nearest or one partner for each (`matching`, which also says which
to believe). Only the Hungarian method needs the similarities of all to all.
"""
