"""Runs: what was asked for, the folder that keeps it, and its life from start to finish.

In: an experiment, a graph. Out: run folders that can be killed at any moment and go on where they
were; trained networks opened again. Must not know how a search chooses or what a user is shown.
"""
