"""Reports: what runs say of themselves, on one page or side by side.

In: folders of runs, finished or not. Out: a page (HTML or Markdown), a comparison. Reads line by
line, never writes into a run and never locks one. Must not know torch, but for `rank_study`, which
asks trained networks.
"""
