"""Every file in experiments/ can be read and is what the presets say."""

from pathlib import Path

import pytest
from scripts.write_experiments import make_experiment, make_files

from interstellar.architecture.notation import read_architecture
from interstellar.data.catalogue import require_set
from interstellar.runs.experiment import read_experiment
from interstellar.training.presets import COUNTRIES_PRESETS, FOUND_PRESETS, PAPER_PRESETS, Preset

FOLDER = Path(__file__).parents[1] / "experiments"
PRESETS = (*PAPER_PRESETS, *FOUND_PRESETS, *COUNTRIES_PRESETS)


def test_the_files_are_those_that_the_script_writes() -> None:
    files = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.toml")}

    assert files == make_files()


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: str(preset.name))
def test_a_file_reads_as_its_preset(preset: Preset) -> None:
    experiment = read_experiment(FOLDER / f"{preset.name}.toml")

    assert experiment == make_experiment(preset)
    assert require_set(experiment.data).task == preset.task
    read_architecture(experiment.architecture)
