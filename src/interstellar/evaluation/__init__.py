"""How well a trained network answers: ranks of the true answers, and metrics of the ranks.

In: logits or embeddings, and the answers that are true. Out: ranks and `Metrics`, or partners.
Knows nothing of networks, architectures, training or tasks: logits come from a function it is
given.

`ranks` places the true objects of queries, `alignment` the true partners of entities, both in
chunks (`chunks`) and in full float32 (`precision`). `metrics` sums ranks up; `auc_pr` needs none.
`highest_logits` finds the best answers, `calibration` turns their logits into probabilities.

Embeddings of two graphs become similarities (`similarity`, `rescoring`, `sinkhorn`), and these
become ranks, lists of the nearest (`nearest`) or one partner for each (`hungarian`,
`stable_matching`), shuffled first (`matching`); `threshold` says which to believe. None of them
needs the similarities of all to all, but for `hungarian`.
"""
