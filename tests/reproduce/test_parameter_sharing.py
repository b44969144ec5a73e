"""The study of shared weights: what is drawn, scored, left out, kept and gone on with."""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.literature import LITERATURE
from interstellar.architecture.notation import code_text, from_code_text
from interstellar.architecture.search_space import SearchSpace
from interstellar.data.graph import Task
from interstellar.errors import ArchitectureError, SettingsError
from interstellar.randomness import spawn
from interstellar.reproduce import parameter_sharing
from interstellar.reproduce.parameter_sharing import (
    Comparison,
    SharingPoint,
    SharingStudy,
    Watch,
    best_macro,
    correlate_points,
    count_variants,
    score_shared,
    study_sharing,
)
from interstellar.runs.experiment import (
    ANY,
    Experiment,
    experiment_text,
    parse_experiment,
    read_experiment,
)
from interstellar.runs.search_plan import SearchPlan, StrategyName
from interstellar.searching.judge import Judge
from interstellar.searching.random_search import RandomSearch
from interstellar.searching.search_loop import SearchLoop
from interstellar.searching.search_run import build_strategy
from interstellar.searching.supernet import Supernet, train_uniformly
from interstellar.searching.workers import Workers
from interstellar.training.presets import search_settings
from tests.searching.fake_judge import architectures_of

pytestmark = pytest.mark.usefixtures("few_resamples")

ALIGNMENT_DATA = "synthetic-alignment:entities=40,seed=1"
CPU = Workers(device=torch.device("cpu"))
RSN = LITERATURE["RSN"]
FEW_VARIANTS = from_code_text("[0,13,12,0,0,0,0,0,0,0,0]").macro
N = 5

Compared = tuple[Comparison, Comparison]
Notes = list[str]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Compared]:
    """A study that nobody disturbed."""
    out = tmp_path_factory.mktemp("finished") / "study"
    return out, study_sharing(build_study(), out, workers=CPU)


@cache
def build_study(data: str = "geography-S3", n: int = N) -> SharingStudy:
    task = Task.ENTITY_ALIGNMENT if data == ALIGNMENT_DATA else Task.LINK_PREDICTION
    settings = replace(search_settings(task, data), dim=8, max_epochs=2, batch_size=256)
    experiment = Experiment(data=data, architecture=ANY, seed=0, settings=settings)
    return SharingStudy(experiment=experiment, n_architectures=n, supernet_epochs=1)


def networks(comparison: Comparison) -> set[Architecture]:
    return {canonical_form(point.architecture) for point in comparison.points}


def point(shared: float | None, alone: float | None) -> SharingPoint:
    return SharingPoint(architecture=RSN, shared=shared, alone=alone)


def test_it_compares_different_networks_of_all_the_space_and_then_of_the_best_macro(
    finished: tuple[Path, Compared],
) -> None:
    _, (full, micro) = finished

    assert (full.space, micro.space) == ("full", "micro")
    assert len(networks(full)) == len(networks(micro)) == N
    assert len({point.architecture.macro for point in full.points}) > 1
    assert {point.architecture.macro for point in micro.points} == {best_macro(full.points)}
    assert full.n_failed == micro.n_failed == 0


def test_stand_alone_scores_are_those_of_trials_that_were_trained_to_their_end(
    finished: tuple[Path, Compared],
) -> None:
    out, (full, _) = finished
    plan = read_experiment(out / "full" / "experiment.toml").plan

    best = json.loads((out / "full" / "result.json").read_text())["best"]

    assert plan is not None
    assert not plan.prune
    assert max(point.alone or 0 for point in full.points) == best["score"]


def test_the_table_of_points_holds_both_scores_of_each(finished: tuple[Path, Compared]) -> None:
    out, comparisons = finished

    header, *rows = (out / "points.tsv").read_text().splitlines()

    assert header.split("\t") == ["space", "code", "shared", "stand-alone"]
    assert [row.split("\t") for row in rows] == [
        [c.space, code_text(p.architecture), str(p.shared), str(p.alone)]
        for c in comparisons
        for p in c.points
    ]


def test_in_link_prediction_the_shared_score_is_the_metric_of_the_validation_split() -> None:
    study = build_study()
    judge = Judge(study.search(None), CPU.device)
    paths = torch.from_numpy(judge.paths.array)
    supernet = Supernet(judge.task, SearchSpace(), RSN.macro, judge.settings, paths, seed=0)
    train_uniformly(supernet, n_epochs=1, rng=spawn(0, "uniform supernet"))

    scores = score_shared(judge, RSN.macro, [RSN], n_epochs=1)

    assert scores == [supernet.score(RSN)]


def test_in_alignment_the_shared_score_is_a_negative_loss(tmp_path: Path) -> None:
    full, micro = study_sharing(build_study(ALIGNMENT_DATA, 3), tmp_path / "study", workers=CPU)

    for found in (*full.points, *micro.points):
        assert found.shared is not None
        assert found.shared < 0
        assert found.alone is not None
        assert 0 <= found.alone <= 1


def test_in_alignment_all_architectures_are_judged_on_one_mini_batch() -> None:
    judge = Judge(build_study(ALIGNMENT_DATA, 3).search(None), CPU.device)

    first, other, again = score_shared(judge, None, [RSN, LITERATURE["TransE"], RSN], n_epochs=1)

    assert first == again != other


def test_a_score_that_is_not_a_number_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Supernet, "score", lambda *_: float("nan"))
    judge = Judge(build_study().search(None), CPU.device)

    assert score_shared(judge, None, [RSN], n_epochs=1) == [None]


def test_a_macro_network_with_few_variants_gives_all_it_has_and_that_is_said(
    tmp_path: Path,
) -> None:
    notes: Notes = []
    study = replace(build_study(), macro=FEW_VARIANTS)

    _, micro = study_sharing(study, tmp_path / "study", workers=CPU, on_note=notes.append)

    assert len(micro.points) == len(networks(micro)) == count_variants(FEW_VARIANTS) == 3
    assert any("has 3 different micro variants, fewer than 5" in note for note in notes)


def test_variants_are_counted_as_networks() -> None:
    names = {canonical_form(Architecture(RSN.macro, m)) for m in SearchSpace().micros()}

    assert count_variants(RSN.macro) == len(names) < SearchSpace().n_micro


def test_failed_points_are_counted_and_left_out() -> None:
    sound = [point(0.1, 0.2), point(0.3, 0.4), point(0.2, 0.9)]
    failed = [point(None, 0.9), point(0.9, None), point(None, None)]

    alone = correlate_points(sound, seed=0)
    together = correlate_points([*sound, *failed], seed=0)

    assert together == alone
    assert Comparison(space="full", points=(*sound, *failed), correlation=together).n_failed == 3


def test_of_equal_scores_the_first_drawn_is_the_best() -> None:
    first, second = LITERATURE["TransE"], LITERATURE["RSN"]
    points = [
        SharingPoint(architecture=architecture, shared=None, alone=alone)
        for architecture, alone in ((second, None), (first, 0.5), (second, 0.5))
    ]

    assert best_macro(points) == first.macro


def test_what_is_finished_is_not_computed_again(
    finished: tuple[Path, Compared], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, comparisons = finished
    monkeypatch.setattr(parameter_sharing, "score_shared", refuse)
    monkeypatch.setattr(Judge, "do", refuse)

    again = study_sharing(build_study(), out, workers=CPU, resume=True)

    assert again == comparisons


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("this was done before")


@pytest.mark.parametrize("n_ended", [2, N + 2])
def test_interrupted_among_the_trials_it_ends_as_it_would_have(
    tmp_path: Path, finished: tuple[Path, Compared], n_ended: int
) -> None:
    with pytest.raises(KeyboardInterrupt):
        study_sharing(
            build_study(), tmp_path / "study", workers=CPU, watch=interrupt_after(n_ended)
        )

    again = study_sharing(build_study(), tmp_path / "study", workers=CPU, resume=True)

    assert again == finished[1]


def interrupt_after(n_ended: int) -> Watch:
    """Watch both searches, and interrupt once so many trials have ended in all."""
    n_of_earlier = -N

    def watch() -> AbstractContextManager[Callable[[SearchLoop], None]]:
        nonlocal n_of_earlier
        n_of_earlier += N
        return nullcontext(on_change)

    def on_change(loop: SearchLoop) -> None:
        if n_of_earlier + len(loop.trials.ended) == n_ended:
            raise KeyboardInterrupt

    return watch


def test_interrupted_in_a_supernet_only_that_is_trained_again(
    tmp_path: Path, finished: tuple[Path, Compared], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def score_until_the_second(
        judge: Judge, macro: None, drawn: Sequence[Architecture], *, n_epochs: int
    ) -> list[float | None]:
        calls.append(len(drawn))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return score_shared(judge, macro, drawn, n_epochs=n_epochs)

    monkeypatch.setattr(parameter_sharing, "score_shared", score_until_the_second)
    with pytest.raises(KeyboardInterrupt):
        study_sharing(build_study(), tmp_path / "study", workers=CPU)

    again = study_sharing(build_study(), tmp_path / "study", workers=CPU, resume=True)

    assert again == finished[1]
    assert calls == [N, N, N]


def test_more_architectures_can_be_asked_for_later(
    tmp_path: Path, finished: tuple[Path, Compared]
) -> None:
    macro = best_macro(finished[1][0].points)
    fewer = replace(build_study(n=3), macro=macro)
    study_sharing(fewer, tmp_path / "study", workers=CPU)

    again = study_sharing(
        replace(fewer, n_architectures=N), tmp_path / "study", workers=CPU, resume=True
    )

    assert again == finished[1]


def test_another_study_is_not_gone_on_with(finished: tuple[Path, Compared]) -> None:
    out, _ = finished
    longer = replace(build_study(), supernet_epochs=2)

    with pytest.raises(SettingsError, match="a supernet of 1 epochs, and now 2 are asked for"):
        study_sharing(longer, out, workers=CPU, resume=True)


def test_a_folder_that_is_no_study_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("")

    with pytest.raises(SettingsError, match="is no study of shared weights"):
        study_sharing(build_study(), tmp_path, workers=CPU, resume=True)

    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_order_needs_two_architectures() -> None:
    with pytest.raises(SettingsError, match="at least 2"):
        build_study(n=1)


def test_random_search_with_a_macro_level_draws_the_micro_level_alone() -> None:
    strategy = RandomSearch(SearchSpace(), 0, macro=RSN.macro)

    drawn = architectures_of([p for _ in range(300) if (p := strategy.ask()) is not None])

    assert {architecture.macro for architecture in drawn} == {RSN.macro}
    assert len(set(map(canonical_form, drawn))) == 300


def test_a_plan_with_a_macro_level_is_read_as_it_was_written() -> None:
    search = build_study().search(RSN.macro)

    again = parse_experiment(experiment_text(search))

    assert again == search
    proposal = build_strategy(again).ask()
    assert proposal == RandomSearch(SearchSpace(), 0, macro=RSN.macro).ask()


def test_a_macro_level_is_for_random_search_and_is_a_code() -> None:
    with pytest.raises(SettingsError, match="`macro` was given, but it is for random"):
        SearchPlan(strategy=StrategyName.HYBRID, macro=code_text(RSN))
    with pytest.raises(ArchitectureError, match="has 2 numbers"):
        SearchPlan(strategy=StrategyName.RANDOM, macro="[0,1]")
