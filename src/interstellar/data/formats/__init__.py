"""The formats in which graphs are read and written, one file each: files, frames, folders.

In: a path or an object. Out: tables of names, then a `KnowledgeGraph` or a `GraphPair`. A reader
takes `Findings` and records there all that is wrong, instead of stopping at the first fault.
"""
