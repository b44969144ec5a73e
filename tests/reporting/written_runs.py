"""Runs written by hand, so that every number of a report is known beforehand."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, TypeAlias

from interstellar.architecture.notation import code_text, read_architecture
from interstellar.records.run_folder import RunFolder
from interstellar.rivals.notation import model_text, read_model
from interstellar.runs.experiment import Experiment, experiment_text
from interstellar.runs.search_plan import StrategyName
from tests.runs.small_runs import small_experiment
from tests.searching.small_searches import small_search

ROOT = Path(__file__).parents[2]
SEARCHES = ROOT / "results" / "searches"
KEPT = ROOT / "tests" / "kept_runs" / "0.1.0"
Trials: TypeAlias = list[Mapping[str, Any]]
DATA = {"name": "mine", "entities": 1234, "relations": 5, "train": 400, "valid": 20, "test": 20}
VOID = {"meta", "br"}


def metrics(mrr: float, **others: float) -> dict[str, float]:
    """Return metrics of twenty ranks."""
    return {"mrr": mrr, "hits@1": mrr / 2, "hits@10": min(1.0, 2 * mrr), "n": 20} | others


def write_training(
    folder: Path,
    scores: Sequence[float | None],
    *,
    test: float | None = None,
    experiment: Experiment | None = None,
    seed: int = 0,
    data: Mapping[str, Any] = DATA,
    seconds: float = 2.5,
) -> Path:
    """Write a training with a score for each epoch; it is finished where it has a test score."""
    experiment = experiment or small_experiment()
    code = model_text(read_model(experiment.architecture))
    experiment = replace(experiment, seed=seed, architecture=code)
    run = begin(folder, experiment)
    best = max((score for score in scores if score is not None), default=0.0)
    with run.writing() as journal:
        journal.append("started", data=dict(data), graph_sha256="0" * 64)
        for number, score in enumerate(scores, 1):
            valid = None if score is None else metrics(score)
            epoch = {"loss": 4.0 / number, "valid": valid, "is_best": score == best}
            journal.append("epoch", epoch=number, **epoch)
    if test is not None:
        measured = {"valid": metrics(best), "test": metrics(test)}
        spent = {"best_epoch": 1, "epochs": len(scores), "seconds": seconds, "step_ms": 1.0}
        told = {"weights_sha256": "0" * 64, "architecture": code}
        run.write_result({"metrics": measured, **spent, **told})
    return folder


def write_search(
    folder: Path,
    trials: Iterable[Mapping[str, Any]],
    *,
    experiment: Experiment | None = None,
    is_finished: bool = True,
) -> Path:
    """Write a search of trials that end one after the other, ten seconds each."""
    run = begin(folder, experiment or small_search(StrategyName.RANDOM))
    with run.writing() as journal:
        journal.append("started", data=dict(DATA), graph_sha256="0" * 64)
        for number, trial in enumerate(trials):
            write_trial(journal, number, trial)
    if is_finished:
        run.write_result({"best": {}})
    return folder


def write_trial(journal: Any, number: int, trial: Mapping[str, Any]) -> None:
    """Write the begin of a trial, and its end where it has one."""
    code = code_text(read_architecture(trial.get("formula", "TransE")))
    changes = {"changes": trial["changes"]} if "changes" in trial else {}
    journal.append("proposed", number=number, kind="trial", code=code, **changes)
    if "score" not in trial and "failure" not in trial:
        return
    score = trial.get("score")
    result = {
        "score": score,
        "valid": {} if score is None else metrics(score),
        "curve": [] if score is None else [score],
        "epochs": 2,
        "best_epoch": 2,
        "seconds": 10.0,
        "stopped": trial.get("stopped"),
        "failure": trial.get("failure"),
    }
    known = {"reused": trial["reused"]} if "reused" in trial else {}
    journal.append("ended", number=number, **result, **known, elapsed=10.0 * (number + 1))


def begin(folder: Path, experiment: Experiment) -> RunFolder:
    """Make the folder of a run."""
    environment = {"device": "cpu", "versions": {"python": "3.11"}}
    return RunFolder.create(folder, experiment=experiment_text(experiment), environment=environment)


def tuning(architecture: str = "[0,2,12,0,0,0,0,0,0,0,0]") -> Experiment:
    """Return the experiment of a tuning."""
    return small_search(StrategyName.TUNE, architecture=architecture)


class Page(HTMLParser):
    """A page taken apart; what is not closed is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip() and self._open[-1:] != ["style"]:
            self.texts.append(data.strip())

    def count(self, tag: str) -> int:
        return sum(found == tag for found, _ in self.tags)
