"""Propagation: step times against the plain formulation.

Steps forward and backward of one network are taken, once with our aggregation (on CUDA fused
kernels, on the CPU embedding bags and sparse products) and once written down plainly with
`index_add` and `scatter_reduce`.

    python benchmarks/propagate.py WN18RR --device cuda [--profile] [--tune]
    python benchmarks/propagate.py FB15k-237 --device cuda --left-out between \
        --propagation "O_r = h ⊙ r; v = O_r; relations = query"
"""

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.profiler import ProfilerActivity
from torch.profiler import profile as profiling

import interstellar
from interstellar.architecture.propagation import LeftOut, Propagation, from_text, to_text
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.triplets import with_inverses
from interstellar.device import find_device, mixed_products
from interstellar.model import edge_attention, propagation_layer, propagation_network
from interstellar.model.propagation_graph import PropagationGraph
from interstellar.model.propagation_layer import PropagationSize
from interstellar.model.propagation_network import PropagationNetwork
from plain_aggregation import aggregate_plainly

DEFAULT = "O_r = h ⊙ r; v = O_r"
TILE = "message_kernel.TILE"
FORWARD, BACKWARD = "aggregation_kernel", "aggregation_back_kernel"
TRANSFORM = "transform_kernel"
PROGRAMS: list[dict[str, int]] = [
    {TILE: 512},
    {TILE: 512, f"{FORWARD}.WARPS": 2, f"{BACKWARD}.WARPS": 2},
    {TILE: 2048},
    {TILE: 2048, f"{FORWARD}.WARPS": 8, f"{BACKWARD}.WARPS": 8},
    {f"{FORWARD}.UNROLL": 2, f"{BACKWARD}.UNROLL": 1},
    {f"{FORWARD}.UNROLL": 8, f"{BACKWARD}.UNROLL": 4},
    {f"{FORWARD}.WARPS": 8, f"{BACKWARD}.WARPS": 8},
    {f"{TRANSFORM}.WARPS": 4, f"{TRANSFORM}.BACK_WARPS": 8},
    {f"{TRANSFORM}.TILE": 1024},
    {f"{TRANSFORM}.SUM_TILE": 2048, f"{TRANSFORM}.SUM_STAGES": 3},
    {f"{TRANSFORM}.N_PROGRAMS": 528, "reader_kernel.N_PROGRAMS": 264},
]
"""Sizes of CUDA programs that are tried in place of the usual ones."""


def main() -> None:
    arguments = read_arguments()
    torch.set_num_threads(arguments.threads)
    device = find_device(arguments.device)
    graph = interstellar.load(arguments.data)
    assert isinstance(graph, KnowledgeGraph)
    torch.manual_seed(arguments.seed)
    edges = PropagationGraph(
        graph.train, n_entities=len(graph.entities), n_relations=len(graph.relations)
    ).to(device)
    propagation = from_text(arguments.propagation)
    size = PropagationSize(n_relations=len(graph.relations), dim=arguments.dim)
    network = PropagationNetwork(propagation, size, edges, arguments.nodes)
    network.initialise(torch.Generator().manual_seed(arguments.seed))
    network.to(device)
    report(arguments, event="begin", **describe(network, propagation, graph, device))
    with mixed_products() if device.type == "cuda" and not arguments.exact else nullcontext():
        measure_steps(network, graph, edges, arguments)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="the name of a set, or a folder")
    parser.add_argument("--propagation", default=DEFAULT)
    parser.add_argument("--dim", type=int, default=32)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--nodes", type=int, help="that a query keeps after each layer; else all")
    parser.add_argument("--left-out", type=LeftOut, default=LeftOut.TRIPLETS)
    parser.add_argument("--steps", type=int, default=20, help="that are timed")
    parser.add_argument("--only-ours", action="store_true", help="leave the plain one out")
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    parser.add_argument("--tune", action="store_true", help="try other sizes of CUDA programs")
    parser.add_argument("--states", default="float32", help="their type on CUDA, or bfloat16")
    parser.add_argument("--exact", action="store_true", help="no TF32")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, default=1, help="of the CPU")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def report(arguments: argparse.Namespace, **facts: object) -> None:
    line = json.dumps(facts, ensure_ascii=False)
    print(line, flush=True)
    if arguments.json is not None:
        with arguments.json.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def describe(
    network: PropagationNetwork,
    propagation: Propagation,
    graph: KnowledgeGraph,
    device: torch.device,
) -> dict[str, object]:
    return {
        "data": graph.name,
        "propagation": to_text(propagation),
        "dim": network.size.dim,
        "nodes": network.n_kept,
        "parameters": sum(p.numel() for p in network.parameters()),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
    }


def measure_steps(
    network: PropagationNetwork,
    graph: KnowledgeGraph,
    edges: PropagationGraph,
    arguments: argparse.Namespace,
) -> None:
    """Time both formulations on the same batches; print medians in milliseconds."""
    queries = torch.from_numpy(with_inverses(graph.train, len(graph.relations)).astype(np.int64))
    batch = queries[torch.randperm(len(queries))[: arguments.batch]].to(edges.device)
    report(arguments, event="time", kind="ours", **time_steps(network, edges, batch, arguments))
    if not arguments.only_ours:
        with written_plainly():
            report(
                arguments,
                event="time",
                kind="plain",
                **time_fitting(network, edges, batch, arguments),
            )
    if arguments.profile:
        with profiling(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profile:
            take_step(network, edges, batch, arguments)
            wait_for(edges.device)
        by = "self_cpu_time_total" if edges.device.type == "cpu" else "self_cuda_time_total"
        print(profile.key_averages().table(sort_by=by, row_limit=25, max_name_column_width=60))
    if arguments.tune:
        tune(network, edges, batch, arguments)


@contextmanager
def written_plainly() -> Iterator[None]:
    """Let networks compute without kernels, and aggregate all messages at once."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(propagation_layer, "aggregate", aggregate_plainly))
        for module in (propagation_layer, propagation_network, edge_attention):
            stack.enter_context(patch.object(module, "has_kernels", lambda _: False))
        yield


def time_fitting(
    network: PropagationNetwork,
    edges: PropagationGraph,
    batch: Tensor,
    arguments: argparse.Namespace,
) -> dict[str, object]:
    """Time steps of as much of a batch as fits the memory, a half, a quarter and so on."""
    while True:
        try:
            times = time_steps(network, edges, batch, arguments)
            return {"batch": len(batch), **times}
        except torch.OutOfMemoryError:
            batch = batch[: len(batch) // 2]
        torch.cuda.empty_cache()


def tune(
    network: PropagationNetwork,
    edges: PropagationGraph,
    batch: Tensor,
    arguments: argparse.Namespace,
) -> None:
    """Time steps with some sizes of programs changed; each is compiled first."""
    for changes in PROGRAMS:
        with ExitStack() as stack:
            for place, value in changes.items():
                stack.enter_context(patch(f"interstellar.model.{place}", value))
            try:
                times = time_steps(network, edges, batch, arguments)
            except RuntimeError as error:  # too large a program
                times = {"error": str(error)[:80]}
        report(arguments, event="tune", **changes, **times)


def take_step(
    network: PropagationNetwork,
    edges: PropagationGraph,
    batch: Tensor,
    arguments: argparse.Namespace,
) -> tuple[float, float]:
    """Return the seconds of one pass forward and one backward; on the CPU those of its threads."""
    now = time.process_time if edges.device.type == "cpu" else time.perf_counter
    started = now()
    kept, dtype = edges.edges_without(batch, arguments.left_out), getattr(torch, arguments.states)
    logits = network.logits_over(kept, batch[:, 0], batch[:, 1], state_dtype=dtype)
    loss = functional.cross_entropy(logits, batch[:, 2])
    wait_for(edges.device)
    between = now()
    loss.backward()  # type: ignore[no-untyped-call]
    wait_for(edges.device)
    return between - started, now() - between


def wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def time_steps(
    network: PropagationNetwork,
    edges: PropagationGraph,
    batch: Tensor,
    arguments: argparse.Namespace,
) -> dict[str, object]:
    is_cuda = edges.device.type == "cuda"
    wait_for(edges.device)
    if is_cuda:
        torch.cuda.reset_peak_memory_stats()
    spent = [take_step(network, edges, batch, arguments) for _ in range(arguments.steps + 3)]
    columns = zip(*spent[3:], strict=True)
    forward, backward = (1000 * statistics.median(column) for column in columns)
    peak = torch.cuda.max_memory_allocated() / 2**30 if is_cuda else 0.0
    return {
        "forward_ms": round(forward, 2),
        "backward_ms": round(backward, 2),
        "step_ms": round(forward + backward, 2),
        "peak_gib": round(peak, 2),
    }


if __name__ == "__main__":
    main()
