"""Approximate partners of very many entities against exact ones: seconds, memory and recall.

    python benchmarks/nearest.py [--entities 1000000] [--dim 32] [--threads 1] [--json FILE]

Embeddings are drawn: normal in every dimension, which is harder for a graph of neighbours than
those of a training, and the second graph's are the first's with noise. The exact search is timed
for `N_SAMPLED` sources, and its time for all is that times their number; recall is measured on
them.
"""

import argparse
import resource
import time
from pathlib import Path

import numpy as np
import torch

from interstellar.evaluation.approximate import find_nearest_nearly
from interstellar.evaluation.similarity import Decoding, Similarity, find_nearest
from report import print_figures

N_SAMPLED = 200
K = 10
NOISE = 0.15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=1_000_000, help="of each graph")
    parser.add_argument("--dim", type=int, default=32)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also add the figures to this file, as a line")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    n = arguments.entities
    cosine = draw_views(n, arguments.dim)
    rng = np.random.default_rng(0)
    sampled = torch.from_numpy(rng.choice(n, N_SAMPLED, replace=False))
    some = cosine.take(sampled, torch.arange(n))
    started = time.process_time()
    _, exact = find_nearest(some, K)
    exact_seconds = (time.process_time() - started) * n / N_SAMPLED
    started = time.process_time()
    _, found = find_nearest_nearly(cosine, Decoding.COSINE, K, rng)
    seconds = time.process_time() - started
    found = found[sampled]
    facts = {
        "entities": n,
        "dim": arguments.dim,
        "threads": arguments.threads,
        "exact_cpu_seconds": round(exact_seconds, 1),
        "approximate_cpu_seconds": round(seconds, 1),
        "recall@1": (found[:, 0] == exact[:, 0]).double().mean().item(),
        "recall@10": (found.unsqueeze(2) == exact.unsqueeze(1)).sum().item() / exact.numel(),
        "hits@1_exact": (exact[:, 0] == sampled).double().mean().item(),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }
    print_figures(facts, arguments.json)


def draw_views(n: int, dim: int) -> Similarity:
    generator = torch.Generator().manual_seed(0)
    common = torch.nn.functional.normalize(torch.randn(n, dim, generator=generator))
    noise = torch.randn(n, dim, generator=generator)
    return Similarity.cosine(common, common + NOISE * noise)


if __name__ == "__main__":
    main()
