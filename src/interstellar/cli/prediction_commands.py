"""`interstellar predict`: what is missing in a graph, by name."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interstellar.cli.calibration_table import TOO_FEW_TO_CALIBRATE
from interstellar.cli.output import AsJson, print_fields, print_json, print_rows, report, say
from interstellar.cli.path_commands import Device
from interstellar.errors import SettingsError

if TYPE_CHECKING:
    from interstellar.tasks.answer_file import FileOutcome
    from interstellar.tasks.run_prediction import NamedExplanation, Prediction

N_PATHS_SHOWN = 3
N_PATHS_LISTED = 100
"""Of --json."""
N_FAULTS_SHOWN = 10


def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run of link prediction.")],
    subject: Annotated[str | None, typer.Option(help="Ask for objects of this entity.")] = None,
    relation: Annotated[str | None, typer.Option(help="The relation that is asked for.")] = None,
    object_: Annotated[
        str | None, typer.Option("--object", help="Ask for subjects of this entity.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Answers to each query.")] = 10,
    with_known: Annotated[
        bool, typer.Option("--with-known", help="Do not leave known facts out.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the paths that speak for each answer.")
    ] = False,
    queries: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Many queries: columns subject, relation, object; one end empty or ?.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Answers to --queries: .tsv, .csv or .parquet."),
    ] = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Say which entities most likely complete a triplet.

    Examples: `interstellar predict run --subject france --relation neighbor`,
    `interstellar predict run --relation locatedin --object europe -k 5 --explain`,
    `interstellar predict run --queries queries.tsv --out answers.tsv`.
    """
    from interstellar.workflow import opening

    names = {"subject": subject, "relation": relation, "object": object_}
    if queries is None and out is None:
        refuse_half_query(names)
    else:
        refuse_mixed(queries, out, names, explain=explain)
    model = opening.open(run, device=device)
    predictor = model.predictor
    if predictor.temperature is None:
        report(TOO_FEW_TO_CALIBRATE)
    if queries is not None and out is not None:
        outcome = model.predict_file(queries, out, k=k, with_known=with_known)
        show_outcome(outcome, out, as_json=as_json)
        return
    assert relation is not None
    found = model.predict(
        subject=subject,
        relation=relation,
        object=object_,
        k=k,
        with_known=with_known,
        explain=explain,
    )
    for sentence in predictor.list_lookalikes(
        entities=tuple(name for name in (subject, object_) if name is not None), relation=relation
    ):
        report(f"note: {sentence}")
    if as_json:
        print_json(describe_all(found, predictor.temperature, names))
    else:
        show_all(found)


def refuse_half_query(names: dict[str, str | None]) -> None:
    """Raise unless a relation and one end are given."""
    if names["relation"] is None or (names["subject"] is None) == (names["object"] is None):
        raise SettingsError(
            "a query is --subject with --relation (which objects?) or --object with --relation "
            "(which subjects?). Give one of the two, or --queries FILE --out FILE."
        )


def refuse_mixed(
    queries: Path | None, out: Path | None, names: dict[str, str | None], *, explain: bool
) -> None:
    """Raise unless a file is asked and a file is answered, and nothing else is asked for."""
    if queries is None or out is None:
        raise SettingsError(
            "--queries FILE holds what is asked and --out FILE what is answered. Give both."
        )
    if any(name is not None for name in names.values()) or explain:
        raise SettingsError(
            "--queries asks by file, so --subject, --relation, --object and --explain have no "
            "place beside it. Leave them out, or ask one query without --queries."
        )


def show_outcome(outcome: "FileOutcome", out: Path, *, as_json: bool) -> None:
    """Print how many queries of a file were answered, and which could not be."""
    counts = {"queries": outcome.n_queries, "answers": outcome.n_answers, "path": str(out)}
    show_faults(outcome)
    if as_json:
        listed = [{"file": f.file, "line": f.line, "fault": f.fault} for f in outcome.faults]
        print_json(counts | {"n_faults": outcome.n_faults, "faults": listed})
    else:
        print_fields(counts | {"faults": outcome.n_faults})


def show_faults(outcome: "FileOutcome") -> None:
    """Say on standard error which lines were left out."""
    for fault in outcome.faults[:N_FAULTS_SHOWN]:
        report(f"left out: {fault}")
    n_more = outcome.n_faults - N_FAULTS_SHOWN
    if n_more > 0:
        report(f"left out: {n_more:,} lines more (--json lists the first thousand).")


def describe_all(
    found: list["Prediction"], temperature: float | None, names: dict[str, str | None]
) -> dict[str, Any]:
    """Return the answers to one query as JSON holds them."""
    answers = []
    for answer in found:
        facts = {
            "entity": answer.entity,
            "score": answer.score,
            "rank": answer.rank,
            "probability": answer.probability,
            "known": answer.is_known,
        }
        if answer.explanation is not None:
            facts |= describe_paths(answer.explanation)
        answers.append(facts)
    whole = {"query": names, "answers": answers, "temperature": temperature}
    explanations = [answer.explanation for answer in found if answer.explanation is not None]
    return whole | ({"reads_path": explanations[0].reads_path} if explanations else {})


def describe_paths(explanation: "NamedExplanation") -> dict[str, Any]:
    """Return the paths that speak for an answer as JSON holds them."""
    paths = [
        {"path": str(path), "support": path.support, "triplets": path.triplets}
        for path in explanation.paths[:N_PATHS_LISTED]
    ]
    return {
        "paths": paths,
        "n_paths": len(explanation.paths),
        "all_paths_found": explanation.is_complete,
    }


def show_all(found: list["Prediction"]) -> None:
    """Print the answers to one query, each with its paths if these were asked for."""
    from interstellar.data.spelling import quote

    if not found:
        say("no entity is left that is not known to answer (--with-known shows those).")
        return
    rows = [["rank", "entity", "score", "probability", ""]]
    for answer in found:
        probability = "" if answer.probability is None else f"{answer.probability:.4f}"
        shown = quote(answer.entity)[1:-1]
        known = "known" if answer.is_known else ""
        rows.append([str(answer.rank), shown, f"{answer.score:.4f}", probability, known])
    print_rows(rows)
    for answer in found:
        if answer.explanation is not None:
            show_paths(answer.entity, answer.explanation)
    explanation = found[0].explanation
    if explanation is not None and not explanation.reads_path:
        say("\nThis network reads only the last step of a path: what comes before it has no part.")


def show_paths(entity: str, explanation: "NamedExplanation") -> None:
    """Print the paths with the most support for an answer."""
    from interstellar.data.spelling import quote

    more = "" if explanation.is_complete else " or more"
    say(f"\n{quote(entity)[1:-1]}: {len(explanation.paths):,}{more} paths lead to it")
    for path in explanation.paths[:N_PATHS_SHOWN]:
        say(f"  {path.support:+.3f}  {path}")
