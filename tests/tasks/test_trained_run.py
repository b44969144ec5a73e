"""A finished run opened again is the network that was trained."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from interstellar.errors import DataError, SettingsError
from interstellar.evaluation.alignment import Candidates
from interstellar.evaluation.similarity import Decoding
from interstellar.tasks.splits import Split
from interstellar.tasks.task import build_network
from interstellar.tasks.trained_run import load_weights, open_run
from interstellar.tasks.training_run import Result, train_run
from interstellar.training.experiment import Experiment
from interstellar.training.presets import default_settings
from interstellar.training.settings import with_changes

CPU = torch.device("cpu")
GRAPH, PAIR = "synthetic:entities=60", "synthetic-alignment:entities=60"


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    n_before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_before)


def train(data: str, out: Path) -> Result:
    task = "link-prediction" if data is GRAPH else "entity-alignment"
    settings = with_changes(default_settings(task, "a small set"), dim=8, max_epochs=2)
    experiment = Experiment(data=data, architecture="RSN", seed=0, settings=settings)
    return train_run(experiment, out, device=CPU)


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    out = tmp_path_factory.mktemp("runs") / "linked"
    return out, train(GRAPH, out)


@pytest.fixture(scope="module")
def aligned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    out = tmp_path_factory.mktemp("runs") / "aligned"
    return out, train(PAIR, out)


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

    among_reference = trained.measure(Split.TEST)
    among_all = trained.measure(Split.TEST, candidates=Candidates.ALL)

    assert among_all.mean_rank >= among_reference.mean_rank


def test_candidates_and_decoding_are_refused_for_one_graph(linked: tuple[Path, Result]) -> None:
    trained = open_run(linked[0], CPU)

    with pytest.raises(SettingsError, match="link prediction"):
        trained.measure(Split.TEST, candidates=Candidates.ALL)
    with pytest.raises(SettingsError, match="link prediction"):
        trained.measure(Split.TEST, decoding=Decoding.CSLS)


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
    network = build_network(trained.task, trained.network.cell.architecture, dim=8, dropout=0.0)

    with pytest.raises(DataError, match=r"other.safetensors does not hold relations of shape"):
        load_weights(network, path)
