"""The part of a report on where the ranks of a trained network come from."""

from collections.abc import Sequence

from interstellar.reporting.document import BarChart, Cell, Charts, Paragraph, Section, Table
from interstellar.reporting.rank_study import RankedGroup, RankStudy, study_run
from interstellar.reporting.recorded_training import RecordedTraining

N_RELATIONS = 50
"""The most frequent are listed."""
TITLE = "Ranks on the test split"


def rank_section(training: RecordedTraining, device: str) -> Section:
    """Ask the network of a finished training, and return what its ranks are made of."""
    study = study_run(training.run.folder.path, device)
    if study is None:
        said = "Ranks are taken apart for link prediction with test triplets, which this run lacks."
        return Section(title=TITLE, blocks=[Paragraph(said)])
    n_left = len(study.by_relation) - N_RELATIONS
    note = (
        "Kinds are those of Bordes et al. 2013: a side with 1.5 or more entities on average is N. "
        "Hops are the distance of subject and object in the training graph."
        + (f" {n_left} rarer relations are left out." if n_left > 0 else "")
    )
    return Section(
        title=TITLE,
        blocks=[
            Charts([_histogram(study)]),
            _table("By kind of relation", "kind", study.by_kind),
            _table("By distance", "hops", study.by_hops),
            _table("By relation", "relation", study.by_relation[:N_RELATIONS], has_kind=True),
            Paragraph(note),
        ],
    )


def _histogram(study: RankStudy) -> BarChart:
    rows: list[list[Cell]] = [
        [name, n, share] for (name, share), n in zip(study.shares, study.counts, strict=True)
    ]
    return BarChart(
        title="Filtered ranks of true answers, both ways",
        bars=study.shares,
        numbers=Table(title="Ranks", columns=("rank", "answers", "share"), rows=rows),
    )


def _table(
    title: str, what: str, groups: Sequence[RankedGroup], *, has_kind: bool = False
) -> Table:
    kind = ("kind",) if has_kind else ()
    metrics = ("mrr", "hits@1", "hits@10", "mrr of objects", "mrr of subjects")
    rows: list[list[Cell]] = []
    for group in groups:
        named: list[Cell] = [group.name, group.kind] if has_kind else [group.name]
        both = group.both
        values = (both.mrr, both.hits_at_1, both.hits_at_10, group.objects.mrr, group.subjects.mrr)
        rows.append([*named, group.objects.n, *values])
    return Table(title=title, columns=(what, *kind, "triplets", *metrics), rows=rows)
