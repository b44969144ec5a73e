"""Studies of the paper that nothing else needs: does sharing weights order architectures rightly?

In: data, a search space. Out: scores side by side, their rank correlation, a plot.
"""
