"""The one entry for every graph: names, folders, files, frames and iterables."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, overload

from interstellar.data.catalogue import (
    build_builtin,
    data_root,
    find_set,
    is_builtin,
    suggest_names,
)
from interstellar.data.fetching import fetch
from interstellar.data.findings import Findings, note_lookalikes, note_many_relations
from interstellar.data.formats.any_table import read_table
from interstellar.data.formats.files import find_file
from interstellar.data.formats.name_table import TRIPLET, NameTable
from interstellar.data.formats.numbered_folders import read_openke_folder, read_rsn_folder
from interstellar.data.formats.one_graph import read_split_folder, split_table
from interstellar.data.formats.other_libraries import (
    has_splits,
    is_dataset,
    is_factory,
    is_pyg_data,
    read_dataset,
    read_factory,
    read_pyg_data,
)
from interstellar.data.formats.two_graphs import pair_tables, read_openea_folder, set_folder
from interstellar.data.graph import AnyGraph, GraphPair, KnowledgeGraph, Provenance
from interstellar.data.spelling import shorten
from interstellar.data.splitting import (
    PAIR_SPLIT,
    SPLIT_SEED,
    TRIPLET_SPLIT,
    SplitShares,
    parse_split,
)
from interstellar.errors import SettingsError
from interstellar.printable import printable

Source: TypeAlias = str | os.PathLike[str] | Iterable[object] | object
"""A name or path; a pandas, polars or Arrow frame; (subject, relation, object) strings; PyKEEN's
`TriplesFactory` or `Dataset`; PyG's `Data`."""
StrPath: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be read, and how."""

    source: Source
    second: Source | None = None
    """The second graph of an alignment."""
    pairs: StrPath | None = None
    """The file of pairs known between the two graphs."""
    split: SplitShares | None = None
    """The shares to hold out, where the data has no splits of its own."""
    seed: int = SPLIT_SEED
    columns: Sequence[str | int] | None = None
    """Names or numbers of the columns of subject, relation and object, where they are not found."""
    labels: bool = False
    """Whether `rdfs:label` says what entities are called."""

    def __post_init__(self) -> None:
        if (self.second is None) != (self.pairs is None):
            raise SettingsError(
                "a second graph and a file of known pairs belong together. Give both, or neither."
            )


@overload
def load(
    source: Source,
    *,
    second: Source | None = None,
    pairs: StrPath,
    split: SplitShares | str | None = None,
    seed: int = SPLIT_SEED,
    columns: Sequence[str | int] | None = None,
    labels: bool = False,
) -> GraphPair: ...
@overload
def load(
    source: Source,
    *,
    second: Source | None = None,
    pairs: None = None,
    split: SplitShares | str | None = None,
    seed: int = SPLIT_SEED,
    columns: Sequence[str | int] | None = None,
    labels: bool = False,
) -> KnowledgeGraph | Any: ...
def load(
    source: Source,
    *,
    second: Source | None = None,
    pairs: StrPath | None = None,
    split: SplitShares | str | None = None,
    seed: int = SPLIT_SEED,
    columns: Sequence[str | int] | None = None,
    labels: bool = False,
) -> AnyGraph:
    """Read a graph, or two graphs with known pairs.

    One source is nearly always one graph, and a type checker takes it so; the name or folder of
    an alignment set gives a `GraphPair`.

    Args:
        source: The name of a set, a folder or file in any known format, a frame, an iterable of
            string triplets, a `TriplesFactory` or `Dataset` of PyKEEN, or `Data` of PyG.
        second: The second graph of an alignment, in any of the same formats of one file.
        pairs: The file of entity pairs known between `source` and `second`.
        split: Shares of train, valid and test for data without splits, as in 80/10/10
            (90/5/5 of triplets, 80/10/10 of pairs unless said).
        seed: Makes that split reproducible.
        columns: Names, or numbers from 1, of the columns that hold subject, relation and object.
        labels: Whether `rdfs:label` in RDF says what entities are called.

    Raises:
        DataError: Something is wrong with the files; `faults` lists everything.
    """
    findings = Findings()
    request = Request(
        source=source,
        second=second,
        pairs=pairs,
        split=parse_split(split) if isinstance(split, str) else split,
        seed=seed,
        columns=columns,
        labels=labels,
    )
    graph = read(request, findings)
    findings.raise_faults()
    assert graph is not None, "a graph that could not be read leaves a fault"
    return graph


def settle(place: StrPath) -> str:
    """Return the name of a set as it is, and a path such that it holds from any folder."""
    text = os.fspath(place)
    is_name = is_builtin(text) or find_set(text) is not None
    return text if is_name or not _exists(text) else str(Path(text).resolve())


def _exists(place: str) -> bool:
    return os.path.exists(place)  # noqa: PTH110 (Path.exists raises where a name is too long)


def check(request: Request) -> Findings:
    """Read everything and return all that is wrong or worth saying, without raising."""
    findings = Findings()
    read(request, findings)
    return findings


def read(request: Request, findings: Findings) -> AnyGraph | None:
    """Read what is asked for; None where a fault leaves nothing to return."""
    try:
        graph = _read_source(request, findings)
        if graph is None:
            return None
        note_lookalikes(graph, findings)
        note_many_relations(graph, findings)
    except MemoryError:
        source = request.source if isinstance(request.source, str | os.PathLike) else "<data>"
        findings.fault(
            os.fspath(source),
            None,
            "does not fit into the memory of this machine. Take a smaller graph or a part of this "
            "one, or use a machine with more memory.",
        )
        return None
    provenance = _describe_source(request, graph.name, findings.split)
    return replace(graph, notes=tuple(findings.notes), provenance=provenance)


def _read_source(request: Request, findings: Findings) -> AnyGraph | None:
    """Read two graphs with their pairs, something that has a name or place, or an object."""
    if request.pairs is not None:
        tables = (
            _read_table(request.source, request, findings),
            _read_table(request.second, request, findings),
        )
        split = request.split or PAIR_SPLIT
        return pair_tables(tables, Path(request.pairs), split, request.seed, findings)
    if isinstance(request.source, str | os.PathLike):
        return _read_place(os.fspath(request.source), request, findings)
    return _read_object(request.source, request, findings)


def _describe_source(request: Request, name: str, split: SplitShares | None) -> Provenance:
    def settle_source(source: Source, otherwise: str) -> str:
        return settle(source) if isinstance(source, str | os.PathLike) else otherwise

    given = [source for source in (request.source, request.second) if source is not None]
    return Provenance(
        source=settle_source(request.source, name),
        is_in_memory=not all(isinstance(source, str | os.PathLike) for source in given),
        second=None if request.second is None else settle_source(request.second, "second graph"),
        pairs=None if request.pairs is None else settle(request.pairs),
        split=split,
        split_seed=SPLIT_SEED if split is None else request.seed,
        columns=None if request.columns is None else tuple(request.columns),
        labels=request.labels,
    )


def _read_table(source: Source, request: Request, findings: Findings) -> NameTable:
    columns = TRIPLET.choose(request.columns)
    return read_table(source, findings, columns, labels=request.labels)


def _read_place(place: str, request: Request, findings: Findings) -> AnyGraph | None:
    """Read a named set, a folder or a file."""
    if is_builtin(place):
        _refuse_split(request, place, findings)
        return build_builtin(place)
    named = find_set(place)
    if named:
        _refuse_split(request, named.name, findings)
        graph = read_folder(fetch(named, data_root()), request, findings)
        return replace(graph, name=named.name) if graph else None
    path = Path(place)
    if not _exists(place) and path.name == place:
        hint = f"{suggest_names(place)} `interstellar data list` shows the named sets.".strip()
        findings.fault(shorten(place), None, f"is neither a file nor a set. {hint}")
        return None
    if _exists(place) and path.is_dir():
        return read_folder(path, request, findings)
    table = _read_table(path, request, findings)
    return split_table(table, request.split, request.seed, findings)


def _read_object(source: object, request: Request, findings: Findings) -> KnowledgeGraph | None:
    """Read a graph that is in memory already: of PyKEEN, of PyG, a frame, an iterable."""
    split, label = request.split or TRIPLET_SPLIT, type(source).__name__
    if is_dataset(source):
        _refuse_split(request, label, findings)
        return read_dataset(source, findings)
    if is_factory(source):
        return read_factory(source, split, request.seed, findings)
    if is_pyg_data(source):
        if has_splits(source):
            _refuse_split(request, label, findings)
        return read_pyg_data(source, split, request.seed, findings)
    table = _read_table(source, request, findings)
    return split_table(table, request.split, request.seed, findings)


def read_folder(folder: Path, request: Request, findings: Findings) -> AnyGraph | None:
    """Read a folder by the first format whose files lie in it."""
    if find_file(set_folder(folder), "rel_triples_1"):
        split = request.split or PAIR_SPLIT
        return read_openea_folder(folder, split, request.seed, findings)
    if find_file(folder, "triples_1"):
        graph: AnyGraph = read_rsn_folder(folder, findings)
    elif find_file(folder, "train2id"):
        graph = read_openke_folder(folder, findings)
    elif find_file(folder, "train"):
        graph = read_split_folder(
            folder, findings, TRIPLET.choose(request.columns), labels=request.labels
        )
    else:
        findings.fault(
            folder,
            None,
            "is not laid out in a known format. It must hold train/valid/test (.txt, .tsv, .csv, "
            ".parquet, .nt, .ttl), train2id.txt (OpenKE), triples_1 (RSN) or rel_triples_1 "
            "(OpenEA).",
        )
        return None
    _refuse_split(request, printable(folder.name), findings)
    return graph


def _refuse_split(request: Request, name: str, findings: Findings) -> None:
    """Record that a split was asked for where the data has its own."""
    if request.split is not None:
        findings.fault(name, None, "has splits of its own. Leave the split out.")
