"""The network: embeddings, the cell of any architecture unrolled over paths, the softmax loss.

In: an architecture, sizes, batches of paths as ids. Out: outputs v_t, logits, a loss with its
gradients. Knows nothing of tasks, data sets, optimisers or runs.
"""
