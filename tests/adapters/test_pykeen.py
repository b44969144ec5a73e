"""Our graphs and networks behind PyKEEN's interface."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from pykeen.datasets import Dataset, Nations
from pykeen.evaluation import RankBasedEvaluator, RankBasedMetricResults
from pykeen.predict import predict_target, predict_triples
from pykeen.training import SLCWATrainingLoop
from pykeen.triples import TriplesFactory

from interstellar.adapters.pykeen import Factories, TrainedModel, to_factories, to_pykeen
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.loading import load
from interstellar.errors import SettingsError
from interstellar.runs.experiment import Experiment
from interstellar.runs.trained_run import TrainedRun, open_run
from interstellar.runs.training_run import train_run
from interstellar.tasks.splits import Split
from interstellar.training.presets import LINK_PREDICTION
from interstellar.training.settings_changes import with_changes
from tests.evaluation.pykeen_graphs import NAME_BY_KEY
from tests.inference.named_runs import aligned_run

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> TrainedRun:
    out = tmp_path_factory.mktemp("runs") / "run"
    settings = with_changes(LINK_PREDICTION, dim=8, epochs=3)
    experiment = Experiment(
        data="synthetic:entities=60", architecture="RSN", seed=0, settings=settings
    )
    train_run(experiment, out, device=CPU)
    return open_run(out, CPU)


@pytest.fixture(scope="module")
def model(trained: TrainedRun) -> TrainedModel:
    return to_pykeen(trained)


@pytest.fixture(scope="module")
def factories(trained: TrainedRun) -> Factories:
    assert isinstance(trained.task.graph, KnowledgeGraph)
    return to_factories(trained.task.graph)


def test_pykeens_evaluator_finds_our_metrics(
    trained: TrainedRun, model: TrainedModel, factories: Factories
) -> None:
    ours = trained.measure(Split.TEST).as_dict()

    results = RankBasedEvaluator().evaluate(
        model=model,
        mapped_triples=factories.test.mapped_triples,
        additional_filter_triples=[factories.train.mapped_triples, factories.valid.mapped_triples],
        batch_size=32,
        device=CPU,
        use_tqdm=False,
    )

    assert isinstance(results, RankBasedMetricResults)
    theirs = {
        key: results.get_metric(f"both.realistic.{name}") for key, name in NAME_BY_KEY.items()
    }
    assert {key: ours[key] for key in theirs} == pytest.approx(theirs, rel=1e-6)


def test_pykeen_predicts_by_name(
    trained: TrainedRun, model: TrainedModel, factories: Factories
) -> None:
    graph = trained.task.graph
    subject, relation = graph.all_entities.name(3), graph.all_relations.name(0)

    objects = predict_target(
        model, head=subject, relation=relation, triples_factory=factories.train
    ).df
    subjects = predict_target(
        model, tail=subject, relation=relation, triples_factory=factories.train
    ).df

    n_relations = torch.tensor([len(graph.all_relations)])
    for frame, r in ((objects, torch.tensor([0])), (subjects, n_relations)):
        logits = trained.network.logits(torch.tensor([3]), r)[0]
        best = frame.iloc[0]
        assert best["score"] == pytest.approx(logits.max().item(), rel=1e-5)
        place = next(column for column in frame.columns if column.endswith("_id"))
        assert best[place] == logits.argmax().item()


def test_all_ways_to_score_a_triplet_agree(model: TrainedModel, factories: Factories) -> None:
    triples = factories.test.mapped_triples[:20]

    scores = model.score_hrt(triples)

    tails = model.score_t(triples[:, :2]).gather(1, triples[:, 2:])
    relations = model.score_r(triples[:, [0, 2]]).gather(1, triples[:, 1:2])
    torch.testing.assert_close(scores, tails)
    torch.testing.assert_close(scores, relations)
    packed = predict_triples(model, triples=triples, batch_size=4)
    torch.testing.assert_close(packed.scores, scores[:, 0])


def test_candidates_are_picked(model: TrainedModel, factories: Factories) -> None:
    triples = factories.test.mapped_triples[:4]
    some = torch.tensor([5, 1])
    each = torch.tensor([[0, 1], [2, 3], [4, 5], [6, 7]])
    all_tails, all_heads = model.score_t(triples[:, :2]), model.score_h(triples[:, 1:])

    assert model.score_t(triples[:, :2], tails=some).equal(all_tails[:, some])
    assert model.score_h(triples[:, 1:], heads=each).equal(all_heads.gather(1, each))
    torch.testing.assert_close(
        model.score_r(triples[:, [0, 2]], relations=torch.tensor([1])),
        model.score_r(triples[:, [0, 2]])[:, 1:2],
    )


def test_predicting_relations_works(
    trained: TrainedRun, model: TrainedModel, factories: Factories
) -> None:
    entities = trained.task.graph.all_entities

    found = predict_target(
        model, head=entities.name(0), tail=entities.name(1), triples_factory=factories.train
    ).df

    assert len(found) == len(trained.task.graph.all_relations)


def test_pykeen_may_not_train_it_away(model: TrainedModel, factories: Factories) -> None:
    with pytest.raises(SettingsError, match="trained already"):
        SLCWATrainingLoop(model=model, triples_factory=factories.train).train(
            triples_factory=factories.train, num_epochs=1, use_tqdm=False
        )


def test_an_alignment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is a run of entity alignment"):
        to_pykeen(aligned_run(tmp_path))


def test_a_graph_goes_to_pykeen_and_back_with_its_ids() -> None:
    graph = load("geography-S1")
    assert isinstance(graph, KnowledgeGraph)

    factories = to_factories(graph)

    assert factories.train.num_entities == len(graph.entities)
    assert factories.test.entity_to_id["france"] == graph.entities.id("france")
    np.testing.assert_array_equal(factories.valid.mapped_triples.numpy(), graph.valid)


def test_pykeens_own_sets_come_back_as_they_were() -> None:
    dataset: Dataset = Nations()
    assert isinstance(dataset.training, TriplesFactory)
    graph = load(dataset)
    assert isinstance(graph, KnowledgeGraph)

    factories = to_factories(graph)

    assert factories.train.entity_to_id == dataset.training.entity_to_id
    assert factories.train.relation_to_id == dataset.training.relation_to_id
    assert factories.test.mapped_triples.equal(dataset.testing.mapped_triples)


def test_without_pykeen_there_is_advice() -> None:
    code = (
        "import sys; sys.modules['pykeen'] = None\n"
        "from interstellar.errors import SettingsError\n"
        "try: import interstellar.adapters.pykeen\n"
        "except SettingsError as error: print(error)\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "pip install interstellar-kg[pykeen]" in done.stdout
