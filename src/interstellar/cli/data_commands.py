"""`interstellar data …` and `paths`: the named sets, what is in a graph, and walks in it."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from interstellar.cli.flags import READING, READING_ALONE, Data, Device, Reading, Seed, with_flags
from interstellar.cli.output import (
    AsJson,
    format_value,
    print_fields,
    print_json,
    print_rows,
    report,
    say,
    show_facts,
)
from interstellar.errors import SettingsError

app = typer.Typer(no_args_is_help=True, help="Named sets, statistics, checks, conversion.")


@app.command("list")
def list_sets(as_json: AsJson = False) -> None:
    """List the named sets and say which are on this machine."""
    from interstellar.data.catalogue import data_root, list_sets

    root = data_root()
    rows = list_sets(root)
    if as_json:
        print_json({"sets": rows, "root": str(root)})
        return
    print_rows(
        [("name", "task", "on this machine")]
        + [(row["name"], row["task"], "yes" if row["available"] else "no") for row in rows]
    )
    say(f"\nSets are looked for under {root} ($INTERSTELLAR_DATA).")


@app.command("info", no_args_is_help=True)
@with_flags(reading=READING_ALONE)
def info(
    data: Data,
    hops: Annotated[
        bool, typer.Option("--hops", help="Also how far apart held-out triplets' ends lie.")
    ] = False,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Show the statistics of a set.

    Examples: `interstellar data info WN18RR --hops`,
    `interstellar data info mine.tsv --with theirs.ttl --pairs same.csv`.
    """
    from interstellar.data.graph import KnowledgeGraph
    from interstellar.data.statistics import count, count_hops

    graph = reading.load_silently(data)
    if hops and not isinstance(graph, KnowledgeGraph):
        raise SettingsError(
            f"{graph.name} is a pair of graphs, and --hops measures held-out triplets of one "
            "graph. Leave --hops out."
        )
    counts = count(graph)
    if hops and isinstance(graph, KnowledgeGraph):
        counts["hops"] = count_hops(graph)
    if as_json:
        print_json(counts | {"notes": list(graph.notes)})
        return
    print_counts(counts)
    for note in graph.notes:
        say(f"note: {note}")


@app.command("check", no_args_is_help=True)
@with_flags(reading=READING_ALONE)
def check_data(data: Data, *, reading: Reading, as_json: AsJson = False) -> None:
    """Read everything and list every fault with file and line.

    Exits 2 if there are faults. Example: `interstellar data check my_folder`.
    """
    from interstellar.data.findings import fold_faults
    from interstellar.data.loading import Request, check
    from interstellar.data.splitting import parse_split

    findings = check(
        Request(
            source=data,
            second=reading.second,
            pairs=reading.pairs,
            split=None if reading.split is None else parse_split(reading.split),
            seed=reading.split_seed,
            columns=reading.column_list(),
            labels=reading.labels,
        )
    )
    faults = findings.faults
    how_many = "1 fault" if len(faults) == 1 else f"{len(faults):,} faults"
    error = f"{data} has {how_many}. Mend and check again."
    if as_json:
        listed = [{"file": f.file, "line": f.line, "fault": f.fault} for f in faults]
        said = {"error": error} if faults else {}
        print_json({"ok": not faults, "faults": listed, "notes": findings.notes, **said})
    else:
        for line in (*fold_faults(faults), *(f"note: {note}" for note in findings.notes)):
            say(line.replace("`columns`", "--columns"))
    if faults:
        report(f"error: {error}")
        raise typer.Exit(2)
    if not as_json:
        say(f"{data}: no faults.")


@app.command("fetch", no_args_is_help=True)
def fetch_set(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a set.")],
    as_json: AsJson = False,
) -> None:
    """Download a named set and verify it by checksum.

    Example: `interstellar data fetch WN18RR`.
    """
    from interstellar.data.catalogue import data_root, require_set
    from interstellar.data.fetching import fetch

    named = require_set(name)
    path = fetch(named, data_root(), progress=report)
    if as_json:
        print_json({"name": named.name, "path": str(path)})
    else:
        say(f"{named.name} lies in {path}.")


@app.command("convert", no_args_is_help=True)
@with_flags(reading=READING_ALONE)
def convert(
    data: Data,
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="A new file, or without an ending a new folder.")
    ],
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="text, openke, openea, rsn: a folder; tsv, csv, parquet, nt, ttl: a file or a "
            "folder of three.",
        ),
    ] = None,
    base: Annotated[
        str | None, typer.Option(help="RDF: what IRIs of plain names begin with.")
    ] = None,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Write any readable format in any other.

    The ending of OUT says the format of one file: .tsv, .csv, .parquet (with a column of splits),
    .nt, .ttl. Without one, OUT is a folder of train.txt, valid.txt and test.txt; of two graphs
    that of OpenEA. Examples: `interstellar data convert mine.ttl mine_text`,
    `interstellar data convert WN18RR wn.parquet`,
    `interstellar data convert DBP-WD rsn_folder --format rsn`.
    """
    from interstellar.data.writing import write_graph

    graph = reading.load(data)
    written = write_graph(graph, out, format=format, base=base)
    for note in written.notes:
        report(f"note: {note}")
    if as_json:
        print_json({"path": str(written.path), "form": written.format, "format": written.format})
    else:
        say(f"{graph.name} was written to {written.path}.")


@with_flags(reading=READING)
def sample_paths(
    data: Data,
    out: Annotated[
        Path,
        typer.Option(
            help="File to write: .tsv by name, .parquet as id columns, .npy or no suffix as NumPy."
        ),
    ],
    *,
    reading: Reading,
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
    from interstellar.device import find_device
    from interstellar.paths.biased_walk import sample_paths
    from interstellar.paths.path_table import PathFormat
    from interstellar.paths.walk_graph import WalkGraph
    from interstellar.paths.walk_settings import walk_settings_for
    from interstellar.records.safe_files import refuse_taken
    from interstellar.workflow.audience import find_audience
    from interstellar.workflow.bars import work_shown

    chosen_device = find_device(device)
    PathFormat.of(out)  # before anything is sampled
    refuse_taken(out, (data, reading.second, reading.pairs))
    graph = reading.load(data)
    settings = walk_settings_for(
        graph,
        length=length,
        paths_per_triplet=per_triplet,
        depth_bias=alpha,
        cross_bias=beta,
        rule=rule,
    )
    started = time.perf_counter()
    with work_shown(find_audience()):
        table = sample_paths(WalkGraph.of(graph), settings, seed=seed, device=chosen_device)
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
    show_facts(facts, as_json=as_json)


def print_counts(counts: dict[str, Any]) -> None:
    """Print the counts of a set, nested ones in words."""
    plain = {key: value for key, value in counts.items() if key not in ("graphs", "hops")}
    for number, side in enumerate(counts.get("graphs", ()), 1):
        plain[f"graph {number}"] = ", ".join(f"{format_value(n)} {k}" for k, n in side.items())
    for split, shares in counts.get("hops", {}).items():
        plain[f"hops of {split}"] = ", ".join(f"{k}: {share:.1f} %" for k, share in shares.items())
    print_fields(plain)
