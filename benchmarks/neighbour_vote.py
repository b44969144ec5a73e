"""A vote of neighbours: what entity alignment reaches without learning, to be beaten.

Two entities get a vote from each pair of neighbours that is known to be one, by relations that are
taken for each other; a vote weighs less the more others the neighbours vote for. Relations match as
far as known pairs show. Pairs that are each other's best then count as known, and it is repeated.

    python benchmarks/neighbour_vote.py DBP-WD FOLDER --json votes.json
"""

import argparse
import json
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import interstellar
from interstellar.data.graph import Graph, GraphPair

Floats: TypeAlias = npt.NDArray[np.float64]

ROUNDS = 6
LEAST_VOTE = 0.02
"""Fewer are no evidence, of pairs and of relations."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    figures = [measure(data) for data in arguments.data]
    print(json.dumps(figures, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


def measure(data: str) -> dict[str, Any]:
    """Return Hits@1 among the reference candidates after each round."""
    pair = interstellar.load(data)
    assert isinstance(pair, GraphPair)
    A_1, A_2 = neighbours(pair.source), neighbours(pair.target)
    shape = (len(pair.source.entities), len(pair.target.entities))
    known, hits = pair.train, []
    for _ in range(ROUNDS):
        P = sp.csr_matrix((np.ones(len(known)), (known[:, 0], known[:, 1])), shape)
        votes = count_votes(A_1, A_2, P).toarray()
        hits.append(round(hits_at_1(votes, pair), 4))
        known = np.concatenate([pair.train, mutual_best(votes, pair.train)])
    return {"data": pair.name, "hits@1": hits}


def neighbours(graph: Graph) -> list[sp.csr_matrix]:
    """Return, by relation and then by inverse relation, who has whom as a neighbour."""
    s, r, o = graph.triplets.T
    n = len(graph.entities)
    forward = [
        sp.csr_matrix((np.ones(np.sum(r == i)), (s[r == i], o[r == i])), (n, n))
        for i in range(len(graph.relations))
    ]
    return forward + [A.T.tocsr() for A in forward]


def count_votes(
    A_1: list[sp.csr_matrix], A_2: list[sp.csr_matrix], P: sp.csr_matrix
) -> sp.csr_matrix:
    matches, votes = match_relations(A_1, A_2, P), sp.csr_matrix(P.shape)
    for A, row in zip(A_1, matches, strict=True):
        alike = np.flatnonzero(row > LEAST_VOTE)
        if len(alike):
            of_first = A @ sp.diags(fewer(A)) @ P
            votes = votes + of_first @ sum(
                row[j] * sp.diags(fewer(A_2[j])) @ A_2[j].T for j in alike
            )
    return votes.tocsr()


def match_relations(A_1: list[sp.csr_matrix], A_2: list[sp.csr_matrix], P: sp.csr_matrix) -> Floats:
    """Return for relations of both graphs the share of triplets, among known pairs, in both."""
    shared = np.zeros((len(A_1), len(A_2)))
    for i, A in enumerate(A_1):
        carried = P.T @ A @ P
        if carried.nnz:
            shared[i] = [carried.multiply(B).sum() for B in A_2]
    either = shared.sum(1, keepdims=True) + shared.sum(0, keepdims=True) - shared
    matches: Floats = shared / (either + 1)
    return matches


def fewer(A: sp.csr_matrix) -> Floats:
    """Return the weight of a neighbour's vote: it has one, for all it votes for."""
    weights: Floats = 1 / np.maximum(1, np.asarray(A.sum(0)).ravel())
    return weights


def hits_at_1(votes: Floats, pair: GraphPair) -> float:
    reference = np.concatenate([pair.valid, pair.test])
    candidates = np.unique(reference[:, 1])
    among = votes[pair.test[:, 0]][:, candidates]
    true = votes[pair.test[:, 0], pair.test[:, 1]][:, None]
    rank = 1 + np.sum(among > true, axis=1) + (np.sum(among == true, axis=1) - 1) / 2
    return float(np.mean(rank <= 1))


def mutual_best(votes: Floats, train: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return the pairs that are each other's best, of entities that are not known."""
    best, back = votes.argmax(1), votes.argmax(0)
    first = np.arange(len(votes))
    found = (back[best] == first) & (votes[first, best] > LEAST_VOTE)
    found &= ~np.isin(first, train[:, 0]) & ~np.isin(best, train[:, 1])
    pairs: npt.NDArray[np.int32] = np.stack([first, best], axis=1)[found].astype(np.int32)
    return pairs


if __name__ == "__main__":
    main()
