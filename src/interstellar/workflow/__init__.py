"""What a user does with a graph: search, train, predict, align, go on.

The functions of `import interstellar as ist` and the commands of the same names, which are a thin
layer over them. Each reads what it is given, calls the layers below, and shows progress; nothing
is computed here.
"""
