"""Rounds of alignment: what is proposed, what it may know, and what a kill leaves of it."""

import json
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interstellar.data.graph import GraphPair
from interstellar.errors import DataError, SettingsError
from interstellar.evaluation.alignment import rescore
from interstellar.evaluation.matching import Quality
from interstellar.evaluation.similarity import Decoding
from interstellar.inference import iterated_alignment
from interstellar.inference.iterated_alignment import (
    ITERATIONS,
    NO_NEW_PAIR,
    VALIDATION_FELL,
    IteratedRun,
    IterationSettings,
    Proposal,
    Round,
    Watch,
    add_seeds,
    has_fallen,
    iterate_run,
    propose_seeds,
    refuse_round,
)
from interstellar.paths.walk_graph import WalkGraph
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import Experiment
from interstellar.runs.kept_graph import load_graph
from interstellar.runs.run import Result
from interstellar.runs.training_run import train_run
from interstellar.tasks.splits import Split
from interstellar.training.loop import EpochReport, Observer, Training
from tests.inference.test_whole_alignment import N, make_embeddings, make_pair
from tests.runs.small_runs import CPU, Stop, interrupt, small_experiment

SHORT = IterationSettings(epochs=2, least_precision=0.3)
"""A low precision, because the run has learnt little and has six validation pairs."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "aligned"
    train_run(experiment("synthetic-alignment:entities=80"), out, device=CPU)
    return out


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "run"))


@pytest.fixture(scope="module")
def uninterrupted(
    trained: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, IteratedRun]:
    """Two rounds, and what came of them."""
    path = Path(shutil.copytree(trained, tmp_path_factory.mktemp("runs") / "whole"))
    with pytest.MonkeyPatch.context() as patch:
        never_fall(patch)
        return path, iterate(path, n_rounds=2)


def experiment(data: str, **changes: Any) -> Experiment:
    return small_experiment(data, dim=16, batch_size=512, dropout=0.1, **changes)


def iterate(path: Path, *, n_rounds: int, **others: Any) -> IteratedRun:
    return iterate_run(path, n_rounds=n_rounds, device=CPU, **{"settings": SHORT, **others})


def never_fall(patch: pytest.MonkeyPatch) -> None:
    """Let all rounds be trained, whatever they bring."""
    patch.setattr(iterated_alignment, "has_fallen", lambda *_: False)


def graph_of(path: Path) -> GraphPair:
    graph = load_graph(RunFolder.open(path))
    assert isinstance(graph, GraphPair)
    return graph


def lasting(rounds: Any) -> list[Round]:
    return [replace(found, seconds=0.0) for found in rounds]


def weights_of(path: Path, number: int) -> bytes:
    return (path / ITERATIONS / str(number) / "weights.safetensors").read_bytes()


def as_set(pairs: Any) -> set[tuple[int, int]]:
    return {(a, b) for a, b in pairs.tolist()}


@pytest.mark.parametrize("decoding", Decoding)
def test_proposed_pairs_are_one_to_one_and_leave_seeds_alone(
    decoding: Decoding,
) -> None:
    settings = IterationSettings(decoding=decoding, least_precision=0.5)

    found = propose_seeds(make_pair(), *make_embeddings(), settings)

    first, second = found.pairs.T.tolist()
    assert len(first) == len(set(first)) == len(set(second)) > 5
    assert min(first + second) >= 10  # 0 … 9 are seeds


@pytest.mark.parametrize("decoding", [Decoding.COSINE, Decoding.CSLS])
def test_proposed_are_all_mutual_best_pairs_that_reach_the_threshold(decoding: Decoding) -> None:
    first, second = make_embeddings()
    settings = IterationSettings(decoding=decoding)

    found = propose_seeds(make_pair(), first, second, settings)

    assert found.threshold is not None
    values = rescore(first[10:], second[10:], decoding).rows(slice(None))
    forwards, backwards = values.argmax(dim=1), values.argmax(dim=0)
    expected = {
        (i + 10, int(j) + 10)
        for i, j in enumerate(forwards)
        if backwards[j] == i and values[i, j] >= found.threshold
    }
    assert as_set(found.pairs) == expected
    assert 0 < len(expected) < N - 10


def test_the_truth_of_test_pairs_is_never_used() -> None:
    graph, embeddings = make_pair(), make_embeddings(noise=1.2)
    shuffled = graph.test.copy()
    shuffled[:, 1] = np.random.default_rng(0).permutation(shuffled[:, 1])

    found, other, without = (
        propose_seeds(replace(graph, test=test), *embeddings, IterationSettings())
        for test in (graph.test, shuffled, graph.test[:0])
    )

    assert found.pairs.tolist() == other.pairs.tolist() == without.pairs.tolist()
    assert found.threshold == other.threshold == without.threshold
    assert len(found.pairs) > 0


def test_the_truth_of_validation_pairs_decides_nothing_but_the_threshold() -> None:
    embeddings = make_embeddings(noise=1.2)
    partly_wrong = make_pair().valid.copy()
    partly_wrong[:4, 1] = partly_wrong[3::-1, 1]

    found, other = (
        propose_seeds(make_pair(valid=valid), *embeddings, IterationSettings(least_precision=0.7))
        for valid in (make_pair().valid, partly_wrong)
    )

    assert found.threshold is not None
    assert other.threshold is not None
    assert found.threshold < other.threshold
    assert as_set(other.pairs) < as_set(found.pairs)


def test_a_higher_precision_proposes_fewer_and_keeps_its_promise_on_validation() -> None:
    embeddings = make_embeddings(noise=1.6)

    low, high = (
        propose_seeds(make_pair(), *embeddings, IterationSettings(least_precision=precision))
        for precision in (0.4, 0.9)
    )

    assert as_set(high.pairs) < as_set(low.pairs)
    assert high.valid.precision >= 0.9 > low.valid.precision >= 0.4


def test_nothing_is_proposed_where_no_similarity_is_precise_enough() -> None:
    wrong = np.stack([np.arange(10, 30), np.arange(29, 9, -1)], axis=1).astype(np.int32)

    found = propose_seeds(make_pair(valid=wrong), *make_embeddings(), IterationSettings())

    assert len(found.pairs) == 0
    assert found.threshold is None


def test_more_seeds_leave_every_entity_its_id() -> None:
    graph = make_pair()
    triplets = np.array([[i, 0, (i + 1) % N] for i in range(N)], dtype=np.int32)
    graph = replace(
        graph,
        source=replace(graph.source, triplets=triplets),
        target=replace(graph.target, triplets=triplets),
    )

    grown = add_seeds(graph, graph.test)

    before, after = WalkGraph.of(graph), WalkGraph.of(grown)
    assert grown.train.tolist() == [*graph.train.tolist(), *graph.test.tolist()]
    assert (after.n_entities, after.n_first) == (before.n_entities, before.n_first)
    assert {tuple(row) for row in before.forward.tolist()} < {
        tuple(row) for row in after.forward.tolist()
    }


def test_a_round_is_a_run_with_the_given_seeds_and_the_proposed_ones(
    uninterrupted: tuple[Path, IteratedRun], trained: Path
) -> None:
    path, found = uninterrupted

    given = graph_of(trained)
    for number, round_ in enumerate(found.rounds[1:], 1):
        kept = graph_of(path / ITERATIONS / str(number))
        assert kept.train[: len(given.train)].tolist() == given.train.tolist()
        assert len(kept.train) == len(given.train) + round_.proposed > len(given.train)
        assert kept.valid.tolist() == given.valid.tolist()
    assert [round_.round for round_ in found.rounds] == [0, 1, 2]


def test_the_best_round_on_validation_is_given_with_the_seeds_of_the_user(
    uninterrupted: tuple[Path, IteratedRun], trained: Path
) -> None:
    _, found = uninterrupted

    scores = [round_.valid["hits@1"] for round_ in found.rounds]
    assert found.best_round == scores.index(max(scores))
    graph = found.trained.task.graph
    assert isinstance(graph, GraphPair)
    assert graph.train.tolist() == graph_of(trained).train.tolist()
    again = found.trained.measure(Split.VALID)
    assert again.as_dict() == found.rounds[found.best_round].valid


def test_a_round_starts_from_the_weights_of_the_one_before(
    uninterrupted: tuple[Path, IteratedRun],
) -> None:
    path, _ = uninterrupted
    rounds = path / ITERATIONS

    begun_from = {
        number: next(iter(RunFolder.open(rounds / str(number)).read_events()))["initial_sha256"]
        for number in (1, 2)
    }

    assert begun_from[1] == RunFolder.open(path).read_result()["weights_sha256"]
    assert begun_from[2] == RunFolder.open(rounds / "1").read_result()["weights_sha256"]


def watching(observer: Observer) -> Watch:
    """Return what lets one observer see every round."""
    return lambda: nullcontext(observer)


class StopAtEpoch(Stop):
    """Raises at the n-th epoch of all."""

    def on_step(self, _n_done: int, _n_steps: int) -> None:
        pass

    def on_epoch(self, report: EpochReport, training: Training) -> None:
        super().on_step(report.epoch, training.settings.max_epochs)


@pytest.mark.parametrize(
    "stopping",
    [
        {"watch": watching(Stop(3))},
        {"watch": watching(StopAtEpoch(3))},
        {"on_round": interrupt},
    ],
    ids=["step", "epoch", "round"],
)
def test_rounds_stopped_anywhere_and_begun_again_are_those_never_stopped(
    run: Path,
    uninterrupted: tuple[Path, IteratedRun],
    monkeypatch: pytest.MonkeyPatch,
    stopping: dict[str, Any],
) -> None:
    never_fall(monkeypatch)
    whole, expected = uninterrupted
    with pytest.raises(KeyboardInterrupt):
        iterate(run, n_rounds=2, **stopping)

    found = iterate(run, n_rounds=2)

    assert lasting(found.rounds) == lasting(expected.rounds)
    assert [weights_of(run, i) for i in (1, 2)] == [weights_of(whole, i) for i in (1, 2)]


def test_a_kill_before_the_round_begins_keeps_what_was_proposed(
    run: Path, uninterrupted: tuple[Path, IteratedRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, expected = uninterrupted
    with monkeypatch.context() as patch:
        patch.setattr(iterated_alignment, "train_run", interrupt)
        with pytest.raises(KeyboardInterrupt):
            iterate(run, n_rounds=1)
    (run / ITERATIONS / ".proposed-2.json.01234567.draft").write_text("half")

    found = iterate(run, n_rounds=1)

    assert lasting(found.rounds) == lasting(expected.rounds[:2])
    assert list((run / ITERATIONS).glob(".*.draft")) == []


def test_done_rounds_are_not_trained_again_and_more_can_be_added(
    run: Path, uninterrupted: tuple[Path, IteratedRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    never_fall(monkeypatch)
    _, expected = uninterrupted
    iterate(run, n_rounds=1)
    stop = Stop(1, AssertionError("it was trained again"))
    again = iterate(run, n_rounds=1, watch=watching(stop))

    found = iterate(run, n_rounds=2)

    assert lasting(again.rounds) == lasting(expected.rounds[:2])
    assert lasting(found.rounds) == lasting(expected.rounds)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (replace(SHORT, epochs=3), "epochs = 2, and now 3 is asked for"),
        (replace(SHORT, decoding=Decoding.COSINE), "decoding = csls, and now cosine"),
        (replace(SHORT, least_precision=0.8), r"least_precision = 0\.3, and now 0\.8"),
        (replace(SHORT, seed=1), "seed = 0, and now 1 is asked for"),
    ],
)
def test_other_settings_are_refused_with_the_difference(
    run: Path, monkeypatch: pytest.MonkeyPatch, other: IterationSettings, words: str
) -> None:
    propose(monkeypatch, [])
    iterate(run, n_rounds=1)

    with pytest.raises(SettingsError, match=words):
        iterate(run, n_rounds=1, settings=other)


def test_rounds_begun_before_there_was_a_seed_go_on_with_seed_0_alone(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    propose(monkeypatch, [])
    iterate(run, n_rounds=1)
    file = run / ITERATIONS / "settings.json"
    plain = json.loads(file.read_text())
    assert plain.pop("seed") == 0
    file.write_text(json.dumps(plain))

    iterate(run, n_rounds=1)
    with pytest.raises(SettingsError, match="begun with seed = 0, and now 1 is asked for"):
        iterate(run, n_rounds=1, settings=replace(SHORT, seed=1))


def test_the_seed_decides_between_partners_that_are_equally_near() -> None:
    first, second = make_embeddings(noise=0.1)
    first[50:], second[50:] = first[50], first[50]  # ten that are alike, on either side
    settings = IterationSettings(decoding=Decoding.COSINE)

    found = [
        as_set(propose_seeds(make_pair(), first, second, replace(settings, seed=seed)).pairs)
        for seed in (0, 0, 1, 2)
    ]

    assert found[0] == found[1]
    assert len({frozenset(pairs) for pairs in found}) > 1


def propose(patch: pytest.MonkeyPatch, pairs: list[list[int]]) -> None:
    """Let every round propose the same pairs."""
    valid = Quality.of(n_right=1, n_given=1, n_true=2)
    found = Proposal(
        pairs=np.array(pairs, dtype=np.int32).reshape(-1, 2), threshold=0.1, valid=valid
    )
    patch.setattr(iterated_alignment, "propose_seeds", lambda *_args, **_others: found)


def test_it_stops_where_nothing_is_proposed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    propose(monkeypatch, [])

    found = iterate(run, n_rounds=3)

    assert (found.stopped, found.best_round, len(found.rounds)) == (NO_NEW_PAIR, 0, 1)
    assert not (run / ITERATIONS / "1").exists()


def test_it_stops_where_the_proposals_are_those_of_the_round_before(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never_fall(monkeypatch)
    propose(monkeypatch, graph_of(run).test[:5].tolist())

    found = iterate(run, n_rounds=3)

    assert [round_.proposed for round_ in found.rounds] == [0, 5]
    assert found.stopped == NO_NEW_PAIR


def test_it_stops_where_validation_falls_and_keeps_what_was_better(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train_badly(*_: object, **_others: object) -> Result:
        return {"metrics": {"valid": {"hits@1": -1.0}, "test": None}, "seconds": 1.0}

    monkeypatch.setattr(iterated_alignment, "train_run", train_badly)

    found = iterate(run, n_rounds=3)

    assert (found.stopped, found.best_round, len(found.rounds)) == (VALIDATION_FELL, 0, 2)


@pytest.mark.parametrize(
    ("scores", "falls"),
    [
        ([0.5, 0.46], False),
        ([0.5, 0.44], True),  # the standard error of 0.5 on 100 pairs is 0.05
        ([0.5, 0.6, 0.56], False),
        ([0.6, 0.56, 0.54], True),
        ([0.0, 0.0], False),
    ],
)
def test_validation_falls_where_it_does_by_more_than_its_error(
    scores: list[float], falls: bool
) -> None:
    rounds = [
        Round(
            round=number,
            proposed=0,
            threshold=None,
            right_on_valid=None,
            valid={"hits@1": score, "n": 100},
            test=None,
            seconds=0.0,
        )
        for number, score in enumerate(scores)
    ]

    assert has_fallen(rounds, "hits@1") == falls


@pytest.mark.parametrize(
    "alter",
    [
        lambda plain: plain["first"].__setitem__(0, 80),
        lambda plain: plain["first"].__setitem__(0, -1),
        lambda plain: plain["second"].__setitem__(0, plain["second"][1]),
        lambda plain: plain["second"].pop(),
        lambda plain: plain.pop("first"),
        lambda plain: plain.update(first="all of them"),
        lambda plain: plain.update(first=[[1, 2]] * len(plain["first"])),
        lambda plain: plain.update(first=[2**40] * len(plain["first"])),
    ],
)
def test_an_altered_proposal_is_refused_by_name(
    run: Path, monkeypatch: pytest.MonkeyPatch, alter: Callable[[dict[str, Any]], object]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(iterated_alignment, "train_run", interrupt)
        with pytest.raises(KeyboardInterrupt):
            iterate(run, n_rounds=1)
    file = run / ITERATIONS / "proposed-1.json"
    plain = json.loads(file.read_text())
    alter(plain)
    file.write_text(json.dumps(plain))

    with pytest.raises(DataError, match=r"proposed-1\.json cannot be used"):
        iterate(run, n_rounds=1)


def test_a_run_that_cannot_be_written_to_is_refused_with_advice(run: Path) -> None:
    (run / ITERATIONS).write_text("in the way")

    with pytest.raises(SettingsError, match=r"iterations cannot be written \(File exists\).*Copy"):
        iterate(run, n_rounds=1)


def test_a_full_disk_is_said_and_leaves_nothing_half_written(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **_others: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(iterated_alignment, "write_json", fail)

    with pytest.raises(SettingsError, match=r"No space left on device.*where there is room"):
        iterate(run, n_rounds=1)


def test_a_run_on_one_graph_has_no_rounds(tmp_path: Path) -> None:
    asked = experiment("synthetic:entities=40", max_epochs=1)
    train_run(asked, tmp_path / "run", device=CPU)

    with pytest.raises(SettingsError, match="trained on two graphs"):
        iterate(tmp_path / "run", n_rounds=1)

    assert not (tmp_path / "run" / ITERATIONS).exists()


def test_a_round_is_no_run_to_align_by_itself(uninterrupted: tuple[Path, IteratedRun]) -> None:
    path, _ = uninterrupted

    refuse_round(path)
    with pytest.raises(SettingsError, match=r"only proposed.*with 2 as `iterate`"):
        refuse_round(path / ITERATIONS / "2")


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"epochs": 0}, "epochs is 0"), ({"least_precision": 1.5}, r"least_precision is 1\.5")],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        IterationSettings(**settings)
