"""Decoding of two graphs' embeddings: Sinkhorn against a plain loop over logarithms, and the rest.

    python benchmarks/decode.py [--n 15000] [--dim 256] [--threads 1] [--device cpu] [--json FILE]

The plain loop is what a paper's appendix would give: two `logsumexp` a round over the whole matrix
in float32, one after the other in the same process. Target: at most a fifth of its time, with the
same plan. The loop takes seconds a round and every round the same, so it is timed over a few, and
compared with ours after as many; `--all-rounds` runs it to the end. Embeddings are two noisy views
of random ones with a direction in common, so that there are hubs, as in trained tables.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from interstellar.errors import SettingsError
from interstellar.evaluation.alignment import rescore
from interstellar.evaluation.matching import list_nearest, match_one_to_one
from interstellar.evaluation.similarity import Decoding, Similarity
from interstellar.evaluation.sinkhorn import SinkhornSettings, balance
from report import write_report

FEW_ROUNDS = 5
ALL_ROUNDS = SinkhornSettings().n_rounds
NOISE = 1.6

Result = TypeVar("Result")
Figures = dict[str, float]


def main() -> None:
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    device = torch.device(arguments.device)
    first, second = (x.to(device) for x in draw_pair(arguments.n, arguments.dim))
    n_rounds = ALL_ROUNDS if arguments.all_rounds else FEW_ROUNDS
    figures = {} if arguments.no_plain else compare_sinkhorn(first, second, n_rounds)
    figures |= measure_decodings(first, second, arguments.decodings)
    for name, value in figures.items():
        print(f"{name:28} {value:.4g}")
    facts = {"benchmark": "decode", "n": arguments.n, "dim": arguments.dim, "figures": figures}
    write_report(arguments.json, facts, device=device)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=15_000, help="entities of each graph")
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--all-rounds", action="store_true", help="the plain loop to its end")
    parser.add_argument("--no-plain", action="store_true", help="only ours, for large n")
    parser.add_argument(
        "--decodings",
        type=Decoding,
        nargs="*",
        default=list(Decoding),
        help="that are timed; the Hungarian method takes hours for 100,000",
    )
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


def draw_pair(n: int, dim: int) -> tuple[Tensor, Tensor]:
    """Return two noisy views of the same embeddings."""
    generator = torch.Generator().manual_seed(0)
    common = torch.randn(n, dim, generator=generator) + 0.8 * torch.randn(dim, generator=generator)
    first, second = (common + NOISE * torch.randn(n, dim, generator=generator) for _ in range(2))
    return first, second


def compare_sinkhorn(first: Tensor, second: Tensor, n_rounds: int) -> Figures:
    """Time both from embeddings to the plan's offsets, and compare their plans."""
    cosine = Similarity.cosine(first, second)
    settings = SinkhornSettings(n_rounds=n_rounds)
    set_up, log_plan = measure(lambda: cosine.rows(slice(None)).div_(settings.temperature), first)
    plain, _ = measure(lambda: balance_plainly(log_plan, n_rounds), first)
    ours, _ = measure(lambda: balance(cosine, SinkhornSettings()), first)
    figures = {
        "plain_seconds": set_up + plain * ALL_ROUNDS / n_rounds,
        "plain_rounds_timed": float(n_rounds),
        "sinkhorn_seconds": ours,
    }
    figures["ratio"] = figures["plain_seconds"] / ours
    log_u, log_v = balance(cosine, settings)
    rows = slice(0, 1000)
    ours_rows = cosine.rows(rows).div_(settings.temperature).add_(log_u[rows, None]).add_(log_v)
    figures["largest_difference"] = (ours_rows - log_plan[rows]).abs().max().item()
    is_same = ours_rows.argmax(dim=1) == log_plan[rows].argmax(dim=1)
    figures["same_argmax"] = is_same.double().mean().item()
    return figures


def balance_plainly(log_plan: Tensor, n_rounds: int) -> None:
    """Balance a matrix in place: rows, then columns."""
    for _ in range(n_rounds):
        log_plan -= log_plan.logsumexp(dim=1, keepdim=True)
        log_plan -= log_plan.logsumexp(dim=0, keepdim=True)


def measure_decodings(first: Tensor, second: Tensor, decodings: Sequence[Decoding]) -> Figures:
    """Return for each decoding its seconds from embeddings to partners, and its hits."""
    figures: Figures = {}
    for decoding in decodings:
        try:
            seconds, partner = measure(lambda: align(first, second, decoding), first)  # noqa: B023
        except SettingsError as error:
            print(error)
            continue
        is_found = partner == torch.arange(len(partner))
        figures[f"{decoding}_align_seconds"] = seconds
        figures[f"{decoding}_hits@1"] = is_found.double().mean().item()
    return figures


def align(first: Tensor, second: Tensor, decoding: Decoding) -> Tensor:
    rng = np.random.default_rng(0)
    similarity = rescore(first, second, decoding)
    if decoding.is_one_to_one:
        return match_one_to_one(similarity, decoding, rng)
    return list_nearest(similarity, 10, rng)[1][:, 0]


def measure(work: Callable[[], Result], where: Tensor) -> tuple[float, Result]:
    """Return the seconds that some work takes, and what it returns."""
    start = time.perf_counter()
    result = work()
    if where.is_cuda:
        torch.cuda.synchronize(where.device)
    return time.perf_counter() - start, result


if __name__ == "__main__":
    main()
