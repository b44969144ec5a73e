"""What we have, as other libraries want it.

In: a graph or a trained run. Out: an object of the other library that its own functions work on.
A file here imports that library and is imported only by those who use it. The way in needs no
adapter: `load` takes what PyKEEN and PyTorch Geometric hold triplets in.
"""
