"""The graph of a run, kept in its folder: a run opens without the data it was made from.

`graph.safetensors` holds the triplets and pairs as ids; the names are in `names/`.
"""

import hashlib
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from interstellar.data.graph import AnyGraph, Graph, GraphPair, KnowledgeGraph
from interstellar.data.vocabulary import Vocabulary, as_array
from interstellar.errors import DataError
from interstellar.records.run_folder import RunFolder
from interstellar.records.safe_files import replacing_file

FORMAT, VERSION = "interstellar graph", "1"
LABELS = "entity_labels"
"""What people call the entities, where the graph says so; in the order of their ids."""

Ids = npt.NDArray[np.int32]


def save_graph(run: RunFolder, graph: AnyGraph) -> None:
    """Keep a graph in the folder of a run."""
    entities = graph.all_entities
    run.save_names("entities", entities.array)
    run.save_names("relations", graph.all_relations.array)
    if entities.labels:
        run.save_names(LABELS, as_array([entities.label(i) for i in range(len(entities))]))
    with replacing_file(run.graph_file) as file:
        file.write(save(arrays_of(graph), metadata=describe(graph)))


def load_graph(run: RunFolder) -> AnyGraph:
    """Return the graph that a run keeps."""
    metadata, arrays = _read(run)
    names, labels = run.read_names("entities"), {}
    if (run.names_folder / f"{LABELS}.jsonl").is_file():
        both = zip(names.to_pylist(), run.read_names(LABELS).to_pylist(), strict=False)
        labels = {name: label for name, label in both if name != label}
    entities = Vocabulary(names, labels)
    relations = Vocabulary(run.read_names("relations"))
    try:
        graph = _build(metadata, arrays, entities, relations)
    except (KeyError, ValueError) as error:
        raise _altered(run, f"{type(error).__name__}: {error}") from None
    if metadata.get("sha256") != graph_sha256(graph):
        raise _altered(run, "its hash is another")
    return graph


def graph_sha256(graph: AnyGraph) -> str:
    """Return a hash of everything that a graph says, names included."""
    digest = hashlib.sha256()
    for name, array in arrays_of(graph).items():
        digest.update(f"{name} {array.shape}\n".encode())
        digest.update(array.tobytes())
    for vocabulary in (graph.all_entities, graph.all_relations):
        for block in vocabulary.encode():
            digest.update(block)
    return digest.hexdigest()


def arrays_of(graph: AnyGraph) -> dict[str, Ids]:
    """Return the ids of a graph by name."""
    if isinstance(graph, GraphPair):
        found = {
            "first": graph.source.triplets,
            "second": graph.target.triplets,
            "seeds": graph.train,
            "valid": graph.valid,
            "test": graph.test,
        }
    else:
        found = {"train": graph.train, "valid": graph.valid, "test": graph.test}
        if graph.answers is not None:
            found["answers"] = graph.answers
    return {name: np.ascontiguousarray(ids, dtype=np.int32) for name, ids in found.items()}


def describe(graph: AnyGraph) -> dict[str, str]:
    """Return what the ids alone do not say."""
    facts = {"format": FORMAT, "version": VERSION, "name": graph.name}
    facts["sha256"] = graph_sha256(graph)
    if isinstance(graph, GraphPair):
        facts["n_first_entities"] = str(len(graph.source.entities))
        facts["n_first_relations"] = str(len(graph.source.relations))
    return facts


def _read(run: RunFolder) -> tuple[dict[str, str], dict[str, Ids]]:
    if not run.graph_file.is_file():
        raise DataError(
            f"{run.path} holds no {run.graph_file.name}, so its graph is not known. It is not a "
            "run that was begun with this version: train it anew."
        )
    try:
        with safe_open(run.graph_file, framework="numpy") as file:
            metadata: dict[str, str] = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise _altered(run, str(error)) from None
    if metadata.get("format") != FORMAT or metadata.get("version") != VERSION:
        raise DataError(
            f"{run.graph_file} is of format {metadata.get('format')!r}, version "
            f"{metadata.get('version')!r}; this program reads {FORMAT!r}, version {VERSION}. "
            "Use the version that wrote it."
        )
    return metadata, arrays


def _build(
    metadata: Mapping[str, str],
    arrays: Mapping[str, Ids],
    entities: Vocabulary,
    relations: Vocabulary,
) -> AnyGraph:
    if "first" not in arrays:
        sizes = (len(entities), len(relations), len(entities))
        answers = arrays.get("answers")
        if answers is not None:
            _check(answers.reshape(-1, 1), len(entities))
        return KnowledgeGraph(
            name=metadata["name"],
            entities=entities,
            relations=relations,
            train=_check(arrays["train"], *sizes),
            valid=_check(arrays["valid"], *sizes),
            test=_check(arrays["test"], *sizes),
            answers=answers,
        )
    n_entities, n_relations = int(metadata["n_first_entities"]), int(metadata["n_first_relations"])
    parts = (
        (slice(n_entities), slice(n_relations)),
        (slice(n_entities, None), slice(n_relations, None)),
    )
    first, second = (
        _side(
            arrays[name], Vocabulary(entities.array[own], entities.labels), relations.array[kinds]
        )
        for name, (own, kinds) in zip(("first", "second"), parts, strict=True)
    )
    n = (len(first.entities), len(second.entities))
    return GraphPair(
        name=metadata["name"],
        source=first,
        target=second,
        train=_check(arrays["seeds"], *n),
        valid=_check(arrays["valid"], *n),
        test=_check(arrays["test"], *n),
    )


def _side(triplets: Ids, entities: Vocabulary, relations: pa.Array) -> Graph:
    _check(triplets, len(entities), len(relations), len(entities))
    return Graph(entities=entities, relations=Vocabulary(relations), triplets=triplets)


def _check(ids: Ids, *sizes: int) -> Ids:
    """Return ids with as many columns as sizes, each of them below the size of its column."""
    if ids.dtype != np.int32 or ids.ndim != 2 or ids.shape[1] != len(sizes):
        raise ValueError(f"ids of type {ids.dtype} and shape {ids.shape}")
    for column, n in zip(ids.T, sizes, strict=True):
        if len(column) and not (column.min() >= 0 and column.max() < n):
            raise ValueError(f"ids from {column.min()} to {column.max()}, but there are {n} names")
    return ids


def _altered(run: RunFolder, what: str) -> DataError:
    return DataError(
        f"{run.graph_file} cannot be used ({what}): it was cut or altered. Take it from a copy, "
        "or train anew."
    )
