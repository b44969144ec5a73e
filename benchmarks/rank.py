"""Filtered ranking of a test split on the CPU, both directions, against PyKEEN on the same logits.

    python benchmarks/rank.py [--data WN18RR] [--dim 64 256] [--threads 1] [--json FILE]

Both ask one DistMult of random weights through the same two functions, `score_t` and `score_h`.
These are ours, one product with the table each (`multiply_out`): PyKEEN's own multiply all dims of
all entities one by one, which takes ten times as long as all the rest and would hide what is
compared. Target: at most half of PyKEEN's CPU time. Taken in turn, the best of the repeats. PyKEEN
is given two batch sizes, of which the better counts; its search for one is not counted.
"""

import argparse
import logging
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import final

import numpy as np
import torch
from pykeen.evaluation import RankBasedEvaluator, RankBasedMetricResults
from pykeen.models import DistMult
from pykeen.triples import CoreTriplesFactory
from torch import Tensor

import interstellar
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.known_answers import KnownAnswers
from interstellar.data.triplets import Triplets, with_inverses
from interstellar.evaluation.metrics import Metrics
from interstellar.evaluation.ranks import rank_objects
from interstellar.model.embedding_table import multiply_out
from report import write_report

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.evaluation.pykeen_graphs import logits_of

CPU = torch.device("cpu")
N_REPEATS = 5
PYKEEN_BATCHES = (32, 256)
PYKEEN_METRICS = ("inverse_harmonic_mean_rank", "arithmetic_mean_rank", "hits_at_k")

Figures = dict[str, float]


def main() -> None:
    arguments = parse_arguments()
    logging.disable(logging.WARNING)  # PyKEEN and torch_max_mem talk of things that are as wanted
    torch.set_num_threads(arguments.threads)
    graph = interstellar.load(arguments.data)
    assert isinstance(graph, KnowledgeGraph)
    results = [compare(graph, dim) for dim in arguments.dim]
    print_table(results)
    facts = {"benchmark": "rank", "data": graph.name, "figures": results}
    write_report(arguments.json, facts | {"pykeen": version("pykeen")})


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="WN18RR", help="name or path of the set")
    parser.add_argument("--dim", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


def compare(graph: KnowledgeGraph, dim: int) -> Figures:
    """Time both on the same model, and return their seconds and metrics."""
    factory = CoreTriplesFactory(
        mapped_triples=as_mapped(graph.train),
        num_entities=len(graph.entities),
        num_relations=len(graph.relations),
    )
    model = ProductDistMult(triples_factory=factory, embedding_dim=dim, random_seed=0)
    figures: Figures = {"dim": dim}
    ways = [("ours", rank_with_ours)]
    ways += [("pykeen", partial(rank_with_pykeen, batch_size=size)) for size in PYKEEN_BATCHES]
    for _ in range(N_REPEATS):
        for name, rank in ways:
            metrics, seconds = measure(partial(rank, graph, model, graph.test))
            figures |= {f"{name}_{key}": value for key, value in metrics.items()}
            for key, value in seconds.items():
                figures[f"{name}_{key}"] = min(value, figures.get(f"{name}_{key}", value))
    figures["cpu_ratio"] = figures["ours_cpu_seconds"] / figures["pykeen_cpu_seconds"]
    return figures


@final
class ProductDistMult(DistMult):
    """PyKEEN's DistMult with logits by one matrix product."""

    def score_t(self, hr_batch: Tensor, **_: object) -> Tensor:
        entities, relations = self.embeddings()
        return multiply_out(entities[hr_batch[:, 0]] * relations[hr_batch[:, 1]], entities)

    def score_h(self, rt_batch: Tensor, **_: object) -> Tensor:
        entities, relations = self.embeddings()
        return multiply_out(entities[rt_batch[:, 1]] * relations[rt_batch[:, 0]], entities)

    def embeddings(self) -> tuple[Tensor, Tensor]:
        return self.entity_representations[0](), self.relation_representations[0]()


def rank_with_ours(graph: KnowledgeGraph, model: DistMult, test: Triplets) -> Figures:
    n_relations = len(graph.relations)
    ranks = rank_objects(
        logits_of(model, n_relations),
        with_inverses(test, n_relations),
        KnownAnswers.of(graph),
        n_entities=len(graph.entities),
        device=CPU,
    )
    metrics = Metrics.of(ranks)
    return {"mrr": metrics.mrr, "mean_rank": metrics.mean_rank}


def rank_with_pykeen(
    graph: KnowledgeGraph, model: DistMult, test: Triplets, *, batch_size: int
) -> Figures:
    evaluator = RankBasedEvaluator(metrics=PYKEEN_METRICS, add_defaults=False)
    results = evaluator.evaluate(
        model,
        as_mapped(test),
        batch_size=batch_size,
        device=CPU,
        use_tqdm=False,
        additional_filter_triples=[as_mapped(graph.train), as_mapped(graph.valid)],
    )
    assert isinstance(results, RankBasedMetricResults)
    return {
        "mrr": results.get_metric("both.realistic.inverse_harmonic_mean_rank"),
        "mean_rank": results.get_metric("both.realistic.arithmetic_mean_rank"),
    }


def as_mapped(triplets: Triplets) -> Tensor:
    return torch.from_numpy(triplets.astype(np.int64))


def measure(work: Callable[[], Figures]) -> tuple[Figures, Figures]:
    """Return what some work returns, and its seconds of processor and of clock."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return result, {
        "cpu_seconds": time.process_time() - cpu,
        "wall_seconds": time.perf_counter() - wall,
    }


def print_table(results: list[Figures]) -> None:
    columns = ("cpu_seconds", "wall_seconds", "mrr", "mean_rank")
    print(f"{'dim':>5} {'':8}" + "".join(f"{column:>16}" for column in columns))
    for figures in results:
        for name in ("ours", "pykeen"):
            values = "".join(f"{figures[f'{name}_{column}']:16.6g}" for column in columns)
            print(f"{figures['dim']:5} {name:8}" + values)
        print(f"{'':5} {'ratio':8}{figures['cpu_ratio']:16.3f}  (target: at most 0.5)")


if __name__ == "__main__":
    main()
