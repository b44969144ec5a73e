"""Engine: where work is done, in this process or in several local ones.

In: pieces of work as plain JSON values. Out: what came of them, in the order in which they were
finished. Knows nothing of searches, architectures or scores; a worker that dies costs only the
piece it was at, which is begun again.
"""
