"""Readers, one file per form in which graphs are found.

In: paths, frames, iterables. Out: tables of names, then numbered graphs. Every reader
takes a `Findings` and records all it finds wrong there instead of stopping at the first.
"""
