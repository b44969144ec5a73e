"""`interstellar paths`: relational paths of a graph, sampled once and for all."""

import time
from pathlib import Path
from typing import Annotated

import typer

from interstellar.cli.data_commands import Data, Pairs, Second
from interstellar.cli.output import AsJson, Seed, print_fields, print_json, progress_bar, report

Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:i.")]


def sample(
    data: Data,
    out: Annotated[
        Path,
        typer.Option(
            help="File to write: .tsv by name, .parquet as id columns, anything else NumPy."
        ),
    ],
    second: Second = None,
    pairs: Pairs = None,
    length: Annotated[
        int | None, typer.Option(help="Triplets in a path (3 for one graph, 7 for two).")
    ] = None,
    per_triplet: Annotated[int, typer.Option(help="Paths that begin with each triplet.")] = 2,
    alpha: Annotated[
        float | None, typer.Option(help="Depth bias α (0.7 for one graph, 0.9 for two).")
    ] = None,
    beta: Annotated[
        float | None, typer.Option(help="Cross-graph bias β (0.9; two graphs only).")
    ] = None,
    rule: Annotated[
        str, typer.Option(help="What the biases favour: program (the authors') or paper.")
    ] = "program",
    seed: Seed = 0,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Sample relational paths by a biased random walk and say their sha256.

    Examples: `interstellar paths geography-S3 --out paths.tsv`,
    `interstellar paths DBP-WD --out paths.npy --length 7 --alpha 0.9 --beta 0.9`.
    """
    from interstellar.data.loading import load
    from interstellar.device import find_device
    from interstellar.paths.biased_walk import sample_paths
    from interstellar.paths.walk_graph import WalkGraph
    from interstellar.paths.walk_settings import walk_settings_for
    from interstellar.records.safe_files import refuse_taken

    chosen_device = find_device(device)
    refuse_taken(out, (data, second, pairs))
    graph = load(data, second=second, pairs=pairs, seed=seed)
    settings = walk_settings_for(
        graph,
        length=length,
        paths_per_triplet=per_triplet,
        depth_bias=alpha,
        cross_bias=beta,
        rule=rule,
    )
    for note in graph.notes:
        report(f"note: {note}")
    started = time.perf_counter()
    with progress_bar("sampling paths") as progress:
        table = sample_paths(
            WalkGraph.of(graph), settings, seed=seed, device=chosen_device, progress=progress
        )
    seconds = time.perf_counter() - started
    table.save(out, entities=graph.all_entities, relations=graph.all_relations)
    facts = {
        "paths": table.n_paths,
        "steps": table.length,
        "seconds": round(seconds, 3),
        "sha256": table.sha256,
        "device": str(chosen_device),
        "path": str(out),
    }
    if as_json:
        print_json(facts)
    else:
        print_fields(facts)
