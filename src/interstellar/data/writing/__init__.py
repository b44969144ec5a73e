"""Writers, one file per form in which graphs are given out.

In: a `KnowledgeGraph` or a `GraphPair`. Out: a file or folder that `load` reads back to the same
graph, or that is refused; whole or not at all. What a form has no place for is said in notes.
"""
