"""How well a trained network answers: ranks of the true answers, and metrics of the ranks.

In: logits or embeddings, and the answers that are true. Out: ranks and `Metrics`. Knows nothing
of networks, architectures, training or tasks: logits come from a function it is given.

`ranks` places the true objects of queries, `alignment` the true partners of entities, both in
chunks (`chunks`) and in full float32 (`precision`). `metrics` sums ranks up; `auc_pr` needs none.
"""
