"""Engine: where work is done, in this process, in several local ones, or on a cluster.

In: pieces of work as plain JSON values. Out: what came of them, in the order in which they were
finished. Knows nothing of searches, architectures or scores; a worker that dies or hangs costs only
the piece it was at, which is begun again.
"""
