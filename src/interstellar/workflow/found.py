"""What a search or a tuning found."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import final

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.notation import read_architecture, to_code, to_formula
from interstellar.records.run_folder import RunFolder
from interstellar.searching.search_run import list_trials
from interstellar.searching.trials import Trial
from interstellar.tasks.training_run import Result
from interstellar.workflow.model import Model
from interstellar.workflow.run_place import RunPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Winner:
    """The best architecture of a search, or the best settings of a tuning."""

    architecture: Architecture
    score: float
    """The selection metric on the validation split."""
    valid: dict[str, float] = field(default_factory=dict)
    """All metrics of the best epoch there."""
    settings: dict[str, float | int] = field(default_factory=dict)
    """Of a tuning: what differs from the settings it began with."""

    @property
    def code(self) -> list[int]:
        """The architecture as 11 numbers."""
        return list(to_code(self.architecture))

    @property
    def formula(self) -> str:
        """The network in one line."""
        return to_formula(canonical_form(self.architecture))


@final
class Found:
    """A search or a tuning that has a result.

    Args:
        place: Its folder.
        tuning: What was found for the winner's settings, if it was asked for.
        model: The final training of the winner, if it was asked for.
        finalists: The final trainings of the best, if several were asked for.
    """

    def __init__(
        self,
        place: RunPlace,
        *,
        tuning: "Found | None" = None,
        model: Model | None = None,
        finalists: Sequence[Model] = (),
    ) -> None:
        self.path = place.path
        """The folder of the search."""
        self.tuning = tuning
        """The settings of the winner, where `then_tune` was asked for."""
        self.model = model
        """The winner, trained finally, where `then_train` was asked for."""
        self.finalists = list(finalists)
        """The best of the search in its order, trained finally, where several were asked for."""
        self._place = place

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Found":
        """Return what lies in the folder of a search."""
        found = cls(RunPlace(Path(path)))
        assert found.best is not None  # what cannot be read is said now
        return found

    def __repr__(self) -> str:
        """Return the winner in one line."""
        return f"<Found {self.best.formula}, score {self.best.score:.4f}, in {self.path}>"

    @cached_property
    def result(self) -> Result:
        """What `result.json` holds: the winner, counts, times."""
        return RunFolder.open(self.path).read_result()

    @cached_property
    def best(self) -> Winner:
        """The highest score, of equal ones the first."""
        best = self.result["best"]
        return Winner(
            architecture=read_architecture(str(best["code"])),
            score=best["score"],
            valid=best["valid"],
            settings=best.get("settings", {}),
        )

    @cached_property
    def trials(self) -> list[Trial]:
        """Every trial that has ended, in the order of their ends."""
        return list(list_trials(RunFolder.open(self.path)))
