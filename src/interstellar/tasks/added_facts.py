"""Triplets that are to be added to a graph, read from any form of one graph.

A source with splits of its own holds some triplets out, and they are left out here too: only
those of its train split are added. Of a source without splits everything is.
"""

import os
from pathlib import Path

from interstellar.data.findings import Findings
from interstellar.data.forms.one_graph import split_table
from interstellar.data.forms.pyg_edges import has_splits, is_pyg_data
from interstellar.data.forms.pykeen_triples import is_dataset, is_factory
from interstellar.data.graph import AnyGraph, Graph, GraphPair
from interstellar.data.loading import Request, Source, read, read_table
from interstellar.data.splitting import Split

EVERYTHING = Split(train=1, valid=0, test=0)


def read_added(source: Source, findings: Findings) -> Graph | None:
    """Read the triplets to add, with all names that their form lists; None after a fault."""
    reading = Findings()  # its notes speak of splits that are not made
    graph = read_whole(source, reading)
    findings.faults.extend(reading.faults)
    if graph is None or reading.faults:
        return None
    if isinstance(graph, GraphPair):
        findings.fault(
            graph.name,
            None,
            "holds two graphs, but triplets are added to one at a time. Give one of its files.",
        )
        return None
    if len(graph.train) == 0:
        findings.fault(graph.name, None, "holds no triplets, but some are to be added. Check it.")
    n_left_out = len(graph.valid) + len(graph.test)
    if n_left_out:
        findings.note(
            f"{graph.name} has splits of its own: {len(graph.train):,} triplets of train are "
            f"taken, {n_left_out:,} of valid and test are left out."
        )
    return Graph(entities=graph.entities, relations=graph.relations, triplets=graph.train)


def read_whole(source: Source, findings: Findings) -> AnyGraph | None:
    """Read a source in its own splits, or all of it as train."""
    if is_table(source):
        table = read_table(source, findings)
        return split_table(table, None if table.splits is not None else EVERYTHING, 0, findings)
    is_whole = is_factory(source) or (is_pyg_data(source) and not has_splits(source))
    return read(Request(source=source, split=EVERYTHING if is_whole else None), findings)


def is_table(source: Source) -> bool:
    """Return whether a source is one table of triplets: a file, a frame, an iterable."""
    if isinstance(source, str | os.PathLike):
        return Path(source).is_file()
    return not (is_dataset(source) or is_factory(source) or is_pyg_data(source))
