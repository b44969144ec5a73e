"""Data sets, one file per form in which they are laid out: folders, files, frames.

In: a path or an object. Out: a `KnowledgeGraph` or a `GraphPair`, with notes on what was
dropped, split or left unseen.
"""
