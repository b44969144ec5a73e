"""The one entry for every graph: names, folders, files, frames and iterables."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from interstellar.data.builtin import build_builtin, is_builtin
from interstellar.data.catalogue import NamedSet, data_root, find_set, is_available, list_names
from interstellar.data.fetching import fetch
from interstellar.data.findings import Findings
from interstellar.data.forms.one_graph import is_split_folder, read_split_folder, split_table
from interstellar.data.forms.openea import is_openea_folder, read_openea_folder
from interstellar.data.forms.openke import is_openke_folder, read_openke_folder
from interstellar.data.forms.pyg_edges import has_splits, is_pyg_data, read_pyg_data
from interstellar.data.forms.pykeen_triples import (
    is_dataset,
    is_factory,
    read_dataset,
    read_factory,
)
from interstellar.data.forms.rsn import is_rsn_folder, read_rsn_folder
from interstellar.data.forms.two_graphs import pair_tables
from interstellar.data.graph import AnyGraph, KnowledgeGraph
from interstellar.data.lookalikes import note_lookalikes
from interstellar.data.reading.any_file import read_triplets
from interstellar.data.reading.frames import is_frame, read_frame, read_rows
from interstellar.data.reading.name_table import NameTable
from interstellar.data.splitting import PAIR_SPLIT, TRIPLET_SPLIT, Split, parse_split
from interstellar.errors import DataError, SettingsError

Source: TypeAlias = str | os.PathLike[str] | Iterable[object] | object
"""A name or path; a pandas, polars or Arrow frame; (subject, relation, object) strings; PyKEEN's
`TriplesFactory` or `Dataset`; PyG's `Data`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be read, and how."""

    source: Source
    second: Source | None = None
    """The second graph of an alignment."""
    pairs: str | os.PathLike[str] | None = None
    """The file of pairs known between the two graphs."""
    split: Split | None = None
    """The shares to hold out, where the data has no splits of its own."""
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.second is None) != (self.pairs is None):
            raise SettingsError(
                "a second graph and a file of known pairs belong together. "
                "Give both (--with GRAPH2 --pairs FILE), or neither."
            )


def load(
    source: Source,
    *,
    second: Source | None = None,
    pairs: str | os.PathLike[str] | None = None,
    split: Split | str | None = None,
    seed: int = 0,
) -> AnyGraph:
    """Read a graph, or two graphs with known pairs.

    Args:
        source: The name of a set, a folder or file in any known form, a frame, an iterable of
            string triplets, a `TriplesFactory` or `Dataset` of PyKEEN, or `Data` of PyG.
        second: The second graph of an alignment, in any of the same forms of one file.
        pairs: The file of entity pairs known between `source` and `second`.
        split: Shares of train, valid and test for data without splits, as in 80/10/10
            (90/5/5 of triplets, 80/10/10 of pairs unless said).
        seed: Makes that split reproducible.

    Raises:
        DataError: Something is wrong with the files; `faults` lists everything.
    """
    findings = Findings()
    shares = parse_split(split) if isinstance(split, str) else split
    request = Request(source=source, second=second, pairs=pairs, split=shares, seed=seed)
    graph = read(request, findings)
    findings.raise_faults()
    assert graph is not None, "a graph that could not be read leaves a fault"
    return graph


def settle(place: str) -> str:
    """Return the name of a set as it is, and a path such that it holds from any folder."""
    if is_builtin(place) or find_set(place) is not None or not Path(place).exists():
        return place
    return str(Path(place).resolve())


def check(request: Request) -> Findings:
    """Read everything and return all that is wrong or worth saying, without raising."""
    findings = Findings()
    read(request, findings)
    return findings


def read(request: Request, findings: Findings) -> AnyGraph | None:
    """Read what is asked for; None where a fault leaves nothing to return."""
    if request.pairs is not None:
        tables = read_table(request.source, findings), read_table(request.second, findings)
        split = request.split or PAIR_SPLIT
        graph: AnyGraph | None = pair_tables(
            tables, Path(request.pairs), split, request.seed, findings
        )
    elif isinstance(request.source, str | os.PathLike):
        graph = read_place(os.fspath(request.source), request, findings)
    else:
        graph = read_object(request.source, request, findings)
    if graph is None:
        return None
    note_lookalikes(graph, findings)
    return replace(graph, notes=tuple(findings.notes))


def read_place(place: str, request: Request, findings: Findings) -> AnyGraph | None:
    """Read a named set, a folder or a file."""
    if is_builtin(place):
        refuse_split(request, place, findings)
        return build_builtin(place)
    named = find_set(place)
    if named:
        refuse_split(request, named.name, findings)
        folder = find_or_fetch(named)
        graph = read_folder(folder, request, findings)
        return replace(graph, name=named.name) if graph else None
    path = Path(place)
    if path.is_dir():
        return read_folder(path, request, findings)
    if not path.exists() and path.name == place:
        findings.fault(place, None, f"is neither a file nor a set. {suggest_names(place)}")
        return None
    table = read_triplets(path, findings)
    return split_table(table, request.split, request.seed, findings)


def read_object(source: object, request: Request, findings: Findings) -> KnowledgeGraph | None:
    """Read a graph that is in memory already: of PyKEEN, of PyG, a frame, an iterable."""
    split, label = request.split or TRIPLET_SPLIT, type(source).__name__
    if is_dataset(source):
        refuse_split(request, label, findings)
        return read_dataset(source, findings)
    if is_factory(source):
        return read_factory(source, split, request.seed, findings)
    if is_pyg_data(source):
        if has_splits(source):
            refuse_split(request, label, findings)
        return read_pyg_data(source, split, request.seed, findings)
    return split_table(read_table(source, findings), request.split, request.seed, findings)


def read_folder(folder: Path, request: Request, findings: Findings) -> AnyGraph | None:
    """Read a folder by the first form whose files lie in it."""
    if is_openea_folder(folder):
        split = request.split or PAIR_SPLIT
        return read_openea_folder(folder, split, request.seed, findings)
    for is_form, read_form in (
        (is_rsn_folder, read_rsn_folder),
        (is_openke_folder, read_openke_folder),
        (is_split_folder, read_split_folder),
    ):
        if is_form(folder):
            refuse_split(request, folder.name, findings)
            return read_form(folder, findings)
    findings.fault(
        folder,
        None,
        "is not laid out in a known form. It must hold train/valid/test (.txt, .tsv, .csv, "
        ".parquet, .nt, .ttl), train2id.txt (OpenKE), triples_1 (RSN) or rel_triples_1 (OpenEA).",
    )
    return None


def read_table(source: Source, findings: Findings) -> NameTable:
    """Read triplets by name from a file, a frame or an iterable."""
    if isinstance(source, str | os.PathLike):
        return read_triplets(Path(os.fspath(source)), findings)
    if is_frame(source):
        return read_frame(source, findings)
    if isinstance(source, Iterable):
        return read_rows(source, findings)
    raise DataError(
        f"a graph cannot be read from a {type(source).__name__}. Give a name, a path, "
        "a pandas, polars or Arrow frame, an iterable of string triplets, or what PyKEEN and "
        "PyG hold triplets in."
    )


def refuse_split(request: Request, name: str, findings: Findings) -> None:
    """Record that a split was asked for where the data has its own."""
    if request.split is not None:
        findings.fault(name, None, "has splits of its own. Leave the split out.")


def find_or_fetch(named: NamedSet) -> Path:
    """Return the folder of a named set, downloading it if it is not there."""
    root = data_root()
    return root / named.folder if is_available(named, root) else fetch(named, root)


def suggest_names(place: str) -> str:
    """Return advice for a name that is unknown."""
    close = list_names(close_to=place)
    hint = f"Did you mean {' or '.join(close)}? " if close else ""
    return hint + "`interstellar data list` shows the named sets."
