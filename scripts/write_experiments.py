"""Writes experiments/*.toml, one file for each preset.

Run it as `python scripts/write_experiments.py` after a change of `training/presets.py` or of the
settings; `tests/test_experiment_files.py` fails until that is done.
"""

from pathlib import Path

from interstellar.runs.experiment import Experiment, experiment_text
from interstellar.training.presets import COUNTRIES_PRESETS, FOUND_PRESETS, PAPER_PRESETS, Preset

TARGET = Path(__file__).parents[1] / "experiments"


def make_experiment(preset: Preset) -> Experiment:
    """Return the preset as an experiment with seed 0."""
    return Experiment(
        data=preset.data,
        architecture=preset.architecture,
        seed=0,
        settings=preset.settings,
    )


def make_file(preset: Preset) -> str:
    """Return the text of the preset's file: where it comes from, then the experiment."""
    lines = [f"# {preset.data}: {preset.source}."]
    published = preset.published
    if published is not None:
        lines.append(
            f"# Published on test: Hits@1 {published.hits_at_1}, Hits@10 {published.hits_at_10}, "
            f"MRR {published.mrr}."
        )
    lines.append("# Written by scripts/write_experiments.py.")
    return "\n".join(lines) + "\n\n" + experiment_text(make_experiment(preset))


def make_files() -> dict[str, str]:
    """Return the text of every file by its name."""
    presets = (*PAPER_PRESETS, *FOUND_PRESETS, *COUNTRIES_PRESETS)
    return {f"{preset.name}.toml": make_file(preset) for preset in presets}


if __name__ == "__main__":
    TARGET.mkdir(exist_ok=True)
    for name, text in make_files().items():
        (TARGET / name).write_text(text, encoding="utf-8")
        print(f"experiments/{name}")
