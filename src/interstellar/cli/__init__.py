"""The command line: a thin layer over the functions of the package.

In: arguments. Out: text for a person, or with `--json` exactly one JSON object on
standard output. Only this folder prints. Commands import what they need when they run,
so that `--help` answers at once.
"""
