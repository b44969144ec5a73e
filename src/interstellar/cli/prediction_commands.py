"""`interstellar predict`: what is missing in a graph, by name."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interstellar.cli.evaluation_tables import TOO_FEW_TO_CALIBRATE
from interstellar.cli.export_commands import Overwrite
from interstellar.cli.flags import Device
from interstellar.cli.output import AsJson, print_fields, print_json, print_rows, report, say
from interstellar.errors import SettingsError

if TYPE_CHECKING:
    from interstellar.inference.prediction import Prediction
    from interstellar.inference.query_file import FileOutcome
    from interstellar.workflow.model import Model

N_PATHS_SHOWN, N_PATHS_LISTED = 3, 100  # the latter with --json
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
    graph: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="Ask about another graph (model propagation)."),
    ] = None,
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
    overwrite: Overwrite = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Say which entities most likely complete a triplet.

    Examples: `interstellar predict run --subject france --relation neighbor`,
    `interstellar predict run --relation locatedin --object europe -k 5 --explain`,
    `interstellar predict run --queries queries.tsv --out answers.tsv` (to standard output without
    `--out`).
    """
    from interstellar.workflow import model as models

    names = {"subject": subject, "relation": relation, "object": object_}
    if queries is None:
        _refuse_half_query(names, out)
    else:
        _refuse_mixed(out, names, explain=explain, as_json=as_json)
    model = models.open(run, device=device, graph=graph)
    predictor = model.predictor
    if predictor.temperature is None:
        report(TOO_FEW_TO_CALIBRATE)
    if queries is not None:
        outcome = _answer(model, queries, out, k=k, with_known=with_known, overwrite=overwrite)
        _show_outcome(outcome, out, as_json=as_json)
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
    lookalikes = predictor.list_lookalikes(subject, object_, relation=relation)
    for sentence in (*lookalikes, *predictor.list_isolated(subject, object_)):
        report(f"note: {sentence}")
    if as_json:
        print_json(_describe(found, predictor.temperature, names))
    else:
        _show(found)


def _refuse_half_query(names: dict[str, str | None], out: Path | None) -> None:
    if names["relation"] is None or (names["subject"] is None) == (names["object"] is None):
        raise SettingsError(
            "a query is --subject with --relation (which objects?) or --object with --relation "
            "(which subjects?). Give one of the two, or --queries FILE."
        )
    if out is not None:
        raise SettingsError(
            f"--out {out} is for the answers to --queries, and one query is asked. Leave it out: "
            "its answers are printed, with --json for a program."
        )


def _refuse_mixed(
    out: Path | None, names: dict[str, str | None], *, explain: bool, as_json: bool
) -> None:
    if any(name is not None for name in names.values()) or explain:
        raise SettingsError(
            "--queries asks by file, so --subject, --relation, --object and --explain have no "
            "place beside it. Leave them out, or ask one query without --queries."
        )
    if out is None and as_json:
        raise SettingsError(
            "--json prints what came of the queries, and without --out the answers are printed "
            "too. Give --out FILE, or leave --json out."
        )


def _answer(
    model: "Model", queries: Path, out: Path | None, *, k: int, with_known: bool, overwrite: bool
) -> "FileOutcome":
    """Answer a file of queries into another, or to standard output as tab-separated text."""
    if out is not None:
        from interstellar.workflow.audience import find_audience
        from interstellar.workflow.bars import work_shown

        with work_shown(find_audience()):  # queries are read as they are answered
            return model.predict_file(queries, out, k=k, with_known=with_known, overwrite=overwrite)
    from interstellar.inference.query_file import answer_file

    asked = model.predictor
    sys.stdout.flush()
    return answer_file(
        asked.predictor, asked.graph, queries, sys.stdout.buffer, k=k, with_known=with_known
    )


def _show_outcome(outcome: "FileOutcome", out: Path | None, *, as_json: bool) -> None:
    """Print how many queries of a file were answered, and which could not be."""
    from interstellar.data.findings import fold_faults

    lines = fold_faults(outcome.faults)
    for line in lines[:N_FAULTS_SHOWN]:
        report(f"left out: {line}")
    if len(lines) > N_FAULTS_SHOWN or outcome.n_faults > len(outcome.faults):
        report(f"left out: {outcome.n_faults:,} lines in all (--json lists the first thousand).")
    counts = {"queries": outcome.n_queries, "answers": outcome.n_answers, "path": str(out)}
    if out is None:
        report(f"{outcome.n_queries:,} queries answered, {outcome.n_faults:,} left out")
    elif as_json:
        faults = [asdict(fault) for fault in outcome.faults]
        print_json(counts | {"n_faults": outcome.n_faults, "faults": faults})
    else:
        print_fields(counts | {"faults": outcome.n_faults})


def _describe(
    found: list["Prediction"], temperature: float | None, names: dict[str, str | None]
) -> dict[str, Any]:
    """Return the answers to one query as JSON holds them."""
    answers = []
    for answer in found:
        facts: dict[str, Any] = {"entity": answer.entity, "score": answer.logit}
        facts |= {"rank": answer.rank, "probability": answer.probability, "known": answer.is_known}
        if answer.label != answer.entity:
            facts["label"] = answer.label
        if (explanation := answer.explanation) is not None:
            facts["paths"] = [
                {"path": str(path), "support": path.support, "triplets": path.triplets}
                for path in explanation.paths[:N_PATHS_LISTED]
            ]
            facts["n_paths"] = len(explanation.paths)
            facts["all_paths_found"] = explanation.is_complete
        answers.append(facts)
    whole = {"query": names, "answers": answers, "temperature": temperature}
    if found and (explanation := found[0].explanation) is not None:
        whole["reads_path"] = explanation.reads_path
    return whole


def _show(found: list["Prediction"]) -> None:
    """Print the answers to one query, each with its paths if these were asked for."""
    if not found:
        say("no entity is left that is not known to answer (--with-known shows those).")
        return
    rows = [["rank", "entity", "logit", "probability", ""]]
    for answer in found:
        probability = "" if answer.probability is None else f"{answer.probability:.3f}"
        known = "known" if answer.is_known else ""
        rows.append([str(answer.rank), answer.shown, f"{answer.logit:.3f}", probability, known])
    print_rows(rows)
    _show_paths(found)


def _show_paths(found: list["Prediction"]) -> None:
    """Print the paths that lead to each answer, if these were asked for, and how to read them."""
    explained = [(each.shown, each.explanation) for each in found if each.explanation is not None]
    for answer, explanation in explained:
        more = "" if explanation.is_complete else " or more"
        say(f"\n{answer}: paths that lead to it: {len(explanation.paths):,}{more}")
        for path in explanation.paths[:N_PATHS_SHOWN]:
            say(f" {path.support:+7.3f}  {path}")
    if not any(explanation.paths for _, explanation in explained):
        return
    _, explanation = explained[0]
    say(f"\nThe number before a path is {explanation.meaning}.")
    if not explanation.reads_path:
        say("This network reads only the last step of a path: what comes before it has no part.")
