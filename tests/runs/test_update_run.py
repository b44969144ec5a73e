"""A run that takes in new facts: what is new is learnt, what is old is not lost."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import interstellar
from interstellar.data.graph import GraphPair, KnowledgeGraph
from interstellar.errors import DataError, SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import Experiment, read_experiment, read_settings
from interstellar.runs.grown_graph import Side
from interstellar.runs.kept_graph import load_graph
from interstellar.runs.run import Result
from interstellar.runs.trained_run import open_run
from interstellar.runs.training_run import train_run
from interstellar.runs.update_run import EPOCHS, Update, plan_update, update_run
from interstellar.tasks.splits import Split
from interstellar.training.presets import COUNTRIES
from tests.runs.small_runs import CPU, PAIR, Stop, save_nothing, small_experiment, train
from tests.tiny_graphs import ring, write_rows, write_split_folder

NEW_COUNTRY = "atlantis"
NEIGHBOURS = ("france", "spain", "italy", "germany", "belgium")
MORE = [
    *((NEW_COUNTRY, "neighbor", country) for country in NEIGHBOURS),
    *((country, "neighbor", NEW_COUNTRY) for country in NEIGHBOURS),
    (NEW_COUNTRY, "discovered by", "plato"),
]


@pytest.fixture(scope="module")
def geography(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    out = tmp_path_factory.mktemp("runs") / "geography"
    settings = replace(COUNTRIES, dim=32, max_epochs=8)
    experiment = Experiment(data="geography-S1", architecture="ComplEx", seed=3, settings=settings)
    return out, train_run(experiment, out, device=CPU)


@pytest.fixture(scope="module")
def aligned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "aligned"
    train(out, PAIR, "RSN", max_epochs=1)
    return out


@pytest.fixture(scope="module")
def updated(
    geography: tuple[Path, Result], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Result]:
    out = tmp_path_factory.mktemp("runs") / "updated"
    return out, update_run(plan_update(geography[0], MORE), out, device=CPU)


def test_the_graph_has_grown_and_the_result_says_what_came_of_it(
    geography: tuple[Path, Result], updated: tuple[Path, Result]
) -> None:
    before, after = (load_graph(RunFolder.open(run[0])) for run in (geography, updated))

    assert isinstance(before, KnowledgeGraph)
    assert isinstance(after, KnowledgeGraph)
    assert len(after.train) == len(before.train) + len(MORE)
    assert after.answers is not None
    said = updated[1]["continued_from"]
    counts = {key: said[key] for key in ("added", "new_entities", "new_relations", "known")}
    assert counts == {"added": len(MORE), "new_entities": 2, "new_relations": 1, "known": 0}
    assert said["weights_sha256"] == geography[1]["weights_sha256"]
    assert said["without_triplets"] == []
    assert RunFolder.open(updated[0]).read_result() == updated[1]


def test_an_updated_run_opens_and_measures_like_any_other(updated: tuple[Path, Result]) -> None:
    trained = open_run(updated[0], CPU)

    assert trained.measure(Split.TEST).as_dict() == updated[1]["metrics"]["test"]
    assert trained.experiment.continued is not None
    assert (updated[1]["epochs"], updated[1]["best_epoch"]) == (EPOCHS, EPOCHS)


def rank_of(run: Path, subject: str, relation: str, true: str) -> int:
    trained = open_run(run, CPU)
    entities, relations = trained.task.graph.all_entities, trained.task.graph.all_relations
    asked = torch.tensor([entities.id(subject)]), torch.tensor([relations.id(relation)])
    logits = trained.network.logits(*asked)[0]
    return 1 + int((logits > logits[entities.id(true)]).sum())


def test_a_new_entity_is_understood_and_old_answers_stay(
    geography: tuple[Path, Result], updated: tuple[Path, Result]
) -> None:
    ranks = {
        region: rank_of(updated[0], NEW_COUNTRY, "locatedin", region)
        for region in ("europe", "asia", "africa", "americas", "oceania")
    }

    assert min(ranks, key=ranks.__getitem__) == "europe"  # no triplet says so, its neighbours do
    assert ranks["europe"] <= 5
    before, after = (run[1]["metrics"]["test"]["mrr"] for run in (geography, updated))
    assert after > 0.8 * before


@pytest.mark.parametrize("side", Side)
def test_training_begins_from_the_old_rows_whatever_their_ids_are_now(
    aligned: Path, side: Side
) -> None:
    old = open_run(aligned, CPU)
    graph = old.task.graph
    assert isinstance(graph, GraphPair)
    of_side = graph.source if side is Side.FIRST else graph.target
    known = of_side.entities.name(0)

    update = plan_update(aligned, [("new", "made of", known)], side=side)

    now = update.graph
    assert isinstance(now, GraphPair)
    before = dict(old.network.named_parameters())
    n_old, n_now = len(graph.all_relations), len(now.all_relations)
    for number, (part, whole) in enumerate(
        ((graph.source, now.source), (graph.target, now.target))
    ):
        shift = (0, len(graph.source.entities))[number], (0, len(now.source.entities))[number]
        for name in ("entities", "one_way_subjects"):
            for row in range(len(part.entities)):
                place = shift[1] + whole.entities.id(part.entities.name(row))
                assert torch.equal(update.initial[name][place], before[name][shift[0] + row])
        shift = (0, len(graph.source.relations))[number], (0, len(now.source.relations))[number]
        for row in range(len(part.relations)):
            place = shift[1] + whole.relations.id(part.relations.name(row))
            for inverse in (0, 1):
                assert torch.equal(
                    update.initial["relations"][place + inverse * n_now],
                    before["relations"][shift[0] + row + inverse * n_old],
                )
    others = [name for name in before if name not in ("entities", "one_way_subjects", "relations")]
    assert others != []
    assert all(torch.equal(update.initial[name], before[name]) for name in others)


def test_epochs_are_as_many_and_the_learning_rate_is_the_runs_unless_said(
    geography: tuple[Path, Result], updated: tuple[Path, Result]
) -> None:
    at_first = read_experiment(geography[0] / "experiment.toml").settings

    again = plan_update(updated[0], [("lemuria", "neighbor", "india")]).experiment.settings
    asked = plan_update(geography[0], MORE, epochs=2, learning_rate=0.5).experiment.settings

    assert (again.max_epochs, again.learning_rate) == (EPOCHS, at_first.learning_rate)
    assert (asked.max_epochs, asked.learning_rate) == (2, 0.5)


def test_new_rows_are_drawn_as_at_the_beginning_of_a_training(
    geography: tuple[Path, Result],
) -> None:
    update, again = (plan_update(geography[0], MORE) for _ in range(2))

    rows, n_old = update.initial["entities"], len(update.graph.all_entities) - 2
    bound = (6 / (len(rows) + 32)) ** 0.5  # Xavier
    assert 0.5 * bound < rows[n_old:].abs().max() <= bound
    assert torch.equal(rows, again.initial["entities"])


def tiny_update(run: Path, n_epochs: int = 3) -> Update:
    return plan_update(run, [("new", "made of", "old")], epochs=n_epochs)


def test_an_alignment_run_takes_triplets_and_pairs(aligned: Path, tmp_path: Path) -> None:
    graph = open_run(aligned, CPU).task.graph
    assert isinstance(graph, GraphPair)
    paired = {int(second) for part in (graph.train, graph.valid, graph.test) for _, second in part}
    free = [i for i in range(len(graph.target.entities)) if i not in paired]
    more = [("new", "made of", graph.source.entities.name(0)), ("new", "near", "newer")]
    partner = [graph.target.entities.name(free[0])] if free else []
    pairs = write_rows(tmp_path / "pairs.tsv", [("new", *partner)]) if partner else None
    update = plan_update(aligned, more, pairs=pairs, epochs=1)

    result = update_run(update, tmp_path / "new", device=CPU)

    said = result["continued_from"]
    assert (said["added"], said["new_entities"], said["added_pairs"]) == (2, 2, len(partner))
    assert open_run(tmp_path / "new", CPU).measure(Split.TEST).n == len(graph.test)


def test_an_updated_run_can_be_updated_again(updated: tuple[Path, Result], tmp_path: Path) -> None:
    more = [("lemuria", "neighbor", NEW_COUNTRY), ("lemuria", "neighbor", "india")]

    result = update_run(plan_update(updated[0], more, epochs=1), tmp_path / "new", device=CPU)

    graph = load_graph(RunFolder.open(tmp_path / "new"))
    assert graph.all_entities.id("lemuria") == len(graph.all_entities) - 1
    assert graph.name == "geography-S1, updated"
    assert result["continued_from"]["weights_sha256"] == updated[1]["weights_sha256"]


@pytest.mark.parametrize("n_steps", [1, 8])
def test_an_update_killed_and_resumed_is_the_one_that_was_not(
    aligned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_steps: int
) -> None:
    whole = update_run(tiny_update(aligned), tmp_path / "whole", device=CPU)
    with monkeypatch.context() as patch:
        save_nothing(patch)
        with pytest.raises(KeyboardInterrupt):
            update_run(tiny_update(aligned), tmp_path / "new", device=CPU, observer=Stop(n_steps))
    resumed = update_run(tiny_update(aligned), tmp_path / "new", device=CPU, resume=True)

    assert resumed["weights_sha256"] == whole["weights_sha256"]
    assert resumed["continued_from"] == whole["continued_from"]


@pytest.mark.parametrize(
    "altered", [{}, {"continued_from": None}, {"continued_from": {"added": 1}}]
)
def test_a_result_without_its_origin_gets_it_when_the_update_is_resumed(
    aligned: Path, tmp_path: Path, altered: Result
) -> None:
    update = tiny_update(aligned, 1)
    result = train_run(
        update.experiment, tmp_path / "new", device=CPU, graph=update.graph, initial=update.initial
    )
    RunFolder.open(tmp_path / "new").write_result(result | altered)

    result = update_run(update, tmp_path / "new", device=CPU, resume=True)

    assert result["continued_from"]["added"] == 1
    assert result["continued_from"]["run"] == str(aligned)


def test_resuming_with_other_facts_is_refused(aligned: Path, tmp_path: Path) -> None:
    update_run(tiny_update(aligned, 1), tmp_path / "new", device=CPU)
    other = plan_update(aligned, [("new", "made of", "something else")], epochs=1)

    with pytest.raises(SettingsError, match=r"begun otherwise.*graph_sha256"):
        update_run(other, tmp_path / "new", device=CPU, resume=True)


def test_the_experiment_says_where_it_went_on_from_and_reads_back(
    updated: tuple[Path, Result], geography: tuple[Path, Result]
) -> None:
    file = updated[0] / "experiment.toml"

    experiment = read_experiment(file)

    assert experiment.continued is not None
    assert experiment.continued.run == str(geography[0].resolve())
    assert experiment.data == "geography-S1"
    assert read_settings(file, experiment.settings) == experiment.settings
    with pytest.raises(SettingsError, match="went on from"):
        train_run(experiment, updated[0].parent / "from nothing", device=CPU)


def test_nothing_new_is_refused(geography: tuple[Path, Result]) -> None:
    graph = load_graph(RunFolder.open(geography[0]))
    frame = interstellar.to_frame(graph).drop_columns("split")

    with pytest.raises(DataError, match=r"holds nothing new: 1,\d\d\d .* known"):
        plan_update(geography[0], frame)


def test_a_side_or_pairs_are_refused_where_there_is_one_graph(
    geography: tuple[Path, Result], tmp_path: Path
) -> None:
    for chosen in ({"side": Side.FIRST}, {"pairs": tmp_path / "pairs.tsv"}):
        with pytest.raises(SettingsError, match="link prediction"):
            plan_update(geography[0], MORE, **chosen)


def test_entities_that_training_never_sees_are_counted(tmp_path: Path) -> None:
    folder = write_split_folder(tmp_path / "data")
    write_rows(folder / "train.txt", ring(20))  # valid and test name four others
    train(tmp_path / "run", str(folder), max_epochs=1)

    update = plan_update(tmp_path / "run", [("italy", "next", "e1")])

    assert update.untrained_entities == 3
    assert update.growth.new_entities == 0


def test_a_run_that_never_finished_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train_run(small_experiment(), tmp_path / "run", device=CPU, observer=Stop(1))

    with pytest.raises(SettingsError, match="has not finished training"):
        plan_update(tmp_path / "run", MORE)
