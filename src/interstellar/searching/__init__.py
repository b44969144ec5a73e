"""Search: which architecture learns a graph best.

In: a data set, a budget, a strategy. Out: trials, and the best of them. Strategies propose and
learn from scores and know neither torch nor data; judges turn proposals into scores; the run
keeps the journal. Must not know how a command line looks.
"""
