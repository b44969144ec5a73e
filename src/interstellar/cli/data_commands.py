"""`interstellar data …`: the named sets, and what is in a graph."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interstellar.cli.output import (
    AsJson,
    Seed,
    format_value,
    print_fields,
    print_json,
    print_rows,
    report,
    say,
)
from interstellar.errors import InputError, SettingsError

if TYPE_CHECKING:
    from interstellar.data.splitting import Split

app = typer.Typer(no_args_is_help=True, help="Named sets, statistics, checks, conversion.")

Data = Annotated[str, typer.Argument(metavar="DATA", help="Name of a set, folder, or file.")]
Second = Annotated[
    Path | None, typer.Option("--with", metavar="GRAPH2", help="The second graph, to align.")
]
Pairs = Annotated[
    Path | None, typer.Option("--pairs", metavar="FILE", help="Pairs known between the two.")
]
SplitText = Annotated[
    str | None,
    typer.Option(
        "--split", metavar="A/B/C", help="Shares to hold out of data without splits: 90/5/5."
    ),
]


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
def info(
    data: Data,
    second: Second = None,
    pairs: Pairs = None,
    split: SplitText = None,
    hops: Annotated[
        bool, typer.Option("--hops", help="Also how far apart held-out triplets' ends lie.")
    ] = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Show the statistics of a set.

    Examples: `interstellar data info WN18RR --hops`,
    `interstellar data info mine.tsv --with theirs.ttl --pairs same.csv`.
    """
    from interstellar.data.graph import KnowledgeGraph
    from interstellar.data.loading import load
    from interstellar.data.statistics import count, count_hops

    graph = load(data, second=second, pairs=pairs, split=parse_split(split), seed=seed)
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
def check_data(
    data: Data,
    second: Second = None,
    pairs: Pairs = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Read everything and list every fault with file and line.

    Exits 2 if there are faults. Example: `interstellar data check my_folder`.
    """
    from interstellar.data.loading import Request, check

    findings = check(Request(source=data, second=second, pairs=pairs, seed=seed))
    faults = findings.faults
    if as_json:
        listed = [{"file": f.file, "line": f.line, "fault": f.fault} for f in faults]
        print_json({"ok": not faults, "faults": listed, "notes": findings.notes})
    else:
        for fault in faults:
            say(str(fault))
        for note in findings.notes:
            say(f"note: {note}")
        if not faults:
            say(f"{data}: no faults.")
    if faults:
        noun = "fault" if len(faults) == 1 else "faults"
        raise InputError(f"{data} has {len(faults):,} {noun}. Mend and check again.")


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
def convert(
    data: Data,
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="A new file, or without an ending a new folder.")
    ],
    second: Second = None,
    pairs: Pairs = None,
    split: SplitText = None,
    form: Annotated[
        str | None,
        typer.Option(
            help="text, openke, openea, rsn: a folder; tsv, csv, parquet, nt, ttl: a file or a "
            "folder of three."
        ),
    ] = None,
    base: Annotated[
        str | None, typer.Option(help="RDF: what IRIs of plain names begin with.")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Write any readable form in any other.

    The ending of OUT says the form of one file: .tsv, .csv, .parquet (with a column of splits),
    .nt, .ttl. Without one, OUT is a folder of train.txt, valid.txt and test.txt; of two graphs
    that of OpenEA. Examples: `interstellar data convert mine.ttl mine_text`,
    `interstellar data convert WN18RR wn.parquet`,
    `interstellar data convert DBP-WD rsn_folder --form rsn`.
    """
    from interstellar.data.iri_names import BASE
    from interstellar.data.loading import load
    from interstellar.data.writing.any_form import write_graph

    graph = load(data, second=second, pairs=pairs, split=parse_split(split), seed=seed)
    written = write_graph(graph, out, form=form, base=BASE if base is None else base)
    for note in (*graph.notes, *written.notes):
        report(f"note: {note}")
    if as_json:
        print_json({"path": str(written.path), "form": written.form})
    else:
        say(f"{graph.name} was written to {written.path}.")


def parse_split(text: str | None) -> "Split | None":
    """Return the shares that a flag gives, if it is given."""
    from interstellar.data import splitting

    return None if text is None else splitting.parse_split(text)


def print_counts(counts: dict[str, Any]) -> None:
    """Print the counts of a set, nested ones in words."""
    plain = {key: value for key, value in counts.items() if key not in ("graphs", "hops")}
    for number, side in enumerate(counts.get("graphs", ()), 1):
        plain[f"graph {number}"] = ", ".join(f"{format_value(n)} {k}" for k, n in side.items())
    for split, shares in counts.get("hops", {}).items():
        plain[f"hops of {split}"] = ", ".join(f"{k}: {share:.1f} %" for k, share in shares.items())
    print_fields(plain)
