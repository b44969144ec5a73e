"""What a trained network is for: predict, explain, align, export.

In: a trained run with its graph, and names or files of names. Out: answers, reasons, pairs and
vectors by name, as values or as files. It must not know the command line.
"""
