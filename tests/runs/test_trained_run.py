"""A finished run opened again is the network that was trained."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from interstellar.data.triplets import no_triplets
from interstellar.errors import DataError, InputError, SettingsError
from interstellar.evaluation.alignment import Candidates
from interstellar.evaluation.calibration import MOST_QUERIES
from interstellar.evaluation.similarity import Decoding
from interstellar.inference.prediction import build_predictor
from interstellar.records.run_folder import RunFolder
from interstellar.runs import trained_run, training_run
from interstellar.runs.run import Result
from interstellar.runs.trained_run import (
    TrainedRun,
    find_temperature,
    load_weights,
    measure_run_reliability,
    open_run,
)
from interstellar.runs.training_run import train_run
from interstellar.tasks.link_prediction import LinkPrediction
from interstellar.tasks.splits import Split
from interstellar.tasks.task import build_network
from tests.runs.small_runs import CPU, GRAPH, PAIR, interrupt, small_experiment, train


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    out = tmp_path_factory.mktemp("runs") / "linked"
    return out, train(out, GRAPH, "RSN", max_epochs=1)


@pytest.fixture(scope="module")
def aligned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    out = tmp_path_factory.mktemp("runs") / "aligned"
    return out, train(out, PAIR, "RSN", max_epochs=1)


@pytest.mark.parametrize("split", Split)
def test_it_measures_what_the_run_measured(
    linked: tuple[Path, Result], aligned: tuple[Path, Result], split: Split
) -> None:
    for out, result in (linked, aligned):
        metrics = open_run(out, CPU).measure(split)

        assert metrics.as_dict() == result["metrics"][split]


def test_its_parameters_are_those_of_the_file_by_name(aligned: tuple[Path, Result]) -> None:
    out, _ = aligned
    weights = load_file(out / "weights.safetensors")

    network = open_run(out, CPU).network

    parameters = dict(network.named_parameters())
    assert set(parameters) == set(weights)
    assert all(torch.equal(weights[name], p) for name, p in parameters.items())


def test_alignment_can_be_measured_with_other_candidates(aligned: tuple[Path, Result]) -> None:
    trained = open_run(aligned[0], CPU)

    among_reference = trained.measure(Split.TEST).as_dict()
    among_all = trained.measure(Split.TEST, candidates=Candidates.ALL).as_dict()

    assert among_all["mean_rank"] >= among_reference["mean_rank"]


def test_candidates_and_decoding_are_refused_for_one_graph(linked: tuple[Path, Result]) -> None:
    trained = open_run(linked[0], CPU)

    with pytest.raises(SettingsError, match="link prediction"):
        trained.measure(Split.TEST, candidates=Candidates.ALL)
    with pytest.raises(SettingsError, match="link prediction"):
        trained.measure(Split.TEST, decoding=Decoding.CSLS, n_negatives=50)


@pytest.mark.parametrize("is_missing", [True, False])
def test_the_weights_of_another_network_are_refused(
    linked: tuple[Path, Result], tmp_path: Path, is_missing: bool
) -> None:
    trained = open_run(linked[0], CPU)
    weights = dict(trained.network.state_dict())
    weights["relations"] = torch.zeros(2, 2)
    if is_missing:
        del weights["relations"]
    path = tmp_path / "other.safetensors"
    save_file(weights, path)
    network = build_network(
        trained.task, trained.path_network.cell.architecture, dim=8, dropout=0.0
    )

    with pytest.raises(DataError, match=r"other.safetensors does not hold relations of shape"):
        load_weights(network, path)


def alter(name: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Path], str]:
    """Return what changes a JSON file of a run, and names it."""

    def harm(run: Path) -> str:
        plain = json.loads((run / name).read_text())
        change(plain)
        (run / name).write_text(json.dumps(plain))
        return name

    return harm


def overwrite(name: str, content: bytes) -> Callable[[Path], str]:
    """Return what gives a file of a run another content, and names it."""

    def harm(run: Path) -> str:
        (run / name).write_bytes(content)
        return name

    return harm


def halve_a_character(run: Path) -> str:
    lines = (run / "names" / "entities.jsonl").read_bytes().splitlines(keepends=True)
    (run / "names" / "entities.jsonl").write_bytes(lines[0] + b'"\\ud800"\n' + b"".join(lines[2:]))
    return "entities.jsonl:2"


@pytest.mark.parametrize(
    "harm",
    [
        overwrite("experiment.toml", b""),
        overwrite("experiment.toml", b"\xff\xfe"),
        overwrite("experiment.toml", b'architecture = "\\ud800"'),
        overwrite("result.json", b""),
        overwrite("result.json", b'{"a": "\\ud800"}'),
        overwrite("weights.safetensors", b"short"),
        overwrite("graph.safetensors", b"short"),
        overwrite("environment.json", b"[]"),
        alter("result.json", lambda plain: plain.pop("weights_sha256")),
        alter("result.json", lambda plain: plain.update(weights_sha256=None)),
        alter("result.json", lambda plain: plain.update(weights_sha256="0")),
        alter("result.json", lambda plain: plain.pop("metrics")),
        alter("result.json", lambda plain: plain.update(metrics=[])),
        alter("result.json", lambda plain: plain["metrics"].pop("test")),
        alter("result.json", lambda plain: plain["metrics"]["valid"].update(mrr="high")),
        alter("result.json", lambda plain: plain.update(architecture="TransF")),
        halve_a_character,
    ],
)
def test_an_altered_file_is_refused_by_name_with_what_to_do(
    linked: tuple[Path, Result], tmp_path: Path, harm: Callable[[Path], str]
) -> None:
    run = Path(shutil.copytree(linked[0], tmp_path / "run"))
    name = harm(run)

    with pytest.raises(InputError) as refusal:
        open_run(run, CPU)

    assert name in str(refusal.value) or "hash that result.json says" in str(refusal.value)
    remedies = ("from a copy", "Correct that line", "Save the file", "Add ", "Make it anew")
    assert any(remedy in str(refusal.value) for remedy in remedies), refusal.value


def test_the_run_of_a_search_is_told_from_a_training(
    linked: tuple[Path, Result], tmp_path: Path
) -> None:
    run = Path(shutil.copytree(linked[0], tmp_path / "run"))
    with (run / "experiment.toml").open("a") as file:
        file.write('\n[search]\nstrategy = "random"\n')

    with pytest.raises(SettingsError, match=r"run of a search.*`final`"):
        open_run(run, CPU)


DATA = "synthetic:entities=60"
"""With validation triplets enough for a temperature."""


@pytest.fixture(scope="module")
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    train(out, DATA, max_epochs=2)
    return out


@pytest.fixture
def run(trained_once: Path, tmp_path: Path) -> Path:
    shutil.copytree(trained_once, tmp_path / "run")
    (tmp_path / "run" / trained_run.CALIBRATION_FILE).unlink(missing_ok=True)
    return tmp_path / "run"


def open_task(run: Path) -> tuple[LinkPrediction, TrainedRun]:
    trained = open_run(run, CPU)
    assert isinstance(trained.task, LinkPrediction)
    return trained.task, trained


def find(run: Path) -> float | None:
    task, trained = open_task(run)
    return find_temperature(run, task, trained.network)


def test_training_leaves_the_temperature_that_predicting_would_fit(
    trained_once: Path, run: Path
) -> None:
    kept = json.loads((trained_once / "calibration.json").read_text())

    assert kept["temperature"] == pytest.approx(find(run), rel=1e-4)
    assert kept["weights_sha256"] == RunFolder.open(run).read_result()["weights_sha256"]


def test_a_run_killed_before_its_temperature_is_whole_and_fits_it_at_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(training_run, "find_temperature", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train(out, DATA, max_epochs=1)

    resumed = train_run(small_experiment(DATA, max_epochs=1), out, device=CPU, resume=True)

    assert resumed == RunFolder.open(out).read_result()
    assert not (out / "calibration.json").exists()
    assert build_predictor(out, open_run(out, CPU)).temperature == find(out) is not None


def test_an_alignment_has_no_temperature(tmp_path: Path) -> None:
    train(tmp_path / "run", PAIR, max_epochs=1)

    assert not (tmp_path / "run" / "calibration.json").exists()


def test_it_is_fitted_once_and_then_read(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = find(run)
    monkeypatch.delattr(trained_run, "fit_temperature")

    assert find(run) == fitted
    kept = json.loads((run / "calibration.json").read_text())
    assert kept["format"] == "interstellar calibration"
    assert kept["temperature"] == fitted


@pytest.mark.parametrize(
    "content", ["", "{}", '{"format": "interstellar calibration", "version": 9}']
)
def test_a_file_that_cannot_be_used_is_replaced(run: Path, content: str) -> None:
    fitted = find(run)
    (run / "calibration.json").write_text(content)

    assert find(run) == fitted
    assert json.loads((run / "calibration.json").read_text())["temperature"] == fitted


def test_the_temperature_of_other_weights_is_not_taken(run: Path) -> None:
    fitted = find(run)
    kept = json.loads((run / "calibration.json").read_text())
    kept |= {"temperature": 77.0, "weights_sha256": "another"}
    (run / "calibration.json").write_text(json.dumps(kept))

    assert find(run) == fitted


@pytest.mark.parametrize("altered", ["1e-320", "1e308", "Infinity", "NaN", "-1.0", "0.0", '"1"'])
def test_a_temperature_that_no_fit_could_give_is_fitted_anew(run: Path, altered: str) -> None:
    fitted = find(run)
    file = run / "calibration.json"
    file.write_text(
        file.read_text().replace(f'"temperature": {fitted}', f'"temperature": {altered}')
    )
    assert altered in file.read_text()

    assert find(run) == fitted
    assert json.loads(file.read_text())["temperature"] == fitted


def test_where_it_cannot_be_kept_it_is_fitted_each_time(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    fitted = find(run)
    (run / "calibration.json").unlink()
    monkeypatch.setattr(trained_run, "write_json", refuse)

    assert find(run) == fitted
    assert not (run / "calibration.json").exists()


def test_without_validation_triplets_there_is_none(run: Path) -> None:
    task, trained = open_task(run)
    bare = LinkPrediction(replace(task.graph, valid=no_triplets()))

    assert find_temperature(run, bare, trained.network) is None


def test_on_a_handful_of_validation_triplets_none_is_fitted(run: Path) -> None:
    task, trained = open_task(run)
    few = LinkPrediction(replace(task.graph, valid=task.graph.valid[:9]))
    enough = LinkPrediction(replace(task.graph, valid=task.graph.valid[:10]))

    assert find_temperature(run, few, trained.network) is None
    assert find_temperature(run, enough, trained.network) is not None


def test_the_fit_is_no_worse_than_none_on_validation(run: Path) -> None:
    task, trained = open_task(run)

    measured = measure_run_reliability(run, task, trained.network, Split.VALID)

    assert measured.n == 2 * len(task.graph.valid) < MOST_QUERIES
    assert measured.nll <= measured.nll_uncalibrated
    assert measured.temperature == find(run)
