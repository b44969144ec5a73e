"""Which checkpoints of trials are kept; whoever goes on without one is trained anew."""

from collections.abc import Collection
from pathlib import Path

from interstellar.searching.finalists import list_finalists
from interstellar.searching.trials import Trials

MOST_BYTES = 4 * 2**30
MOST_KEPT = 12
"""Of those that wait, and of those that may win."""


def remove_needless(folder: Path, trials: Trials, busy: Collection[int]) -> None:
    """Remove the checkpoints that are no longer of use, or for which there is no room."""
    files = {int(file.stem): file for file in folder.glob("[!.]*.safetensors")}
    sizes = {number: file.stat().st_size for number, file in files.items()}
    room = MOST_BYTES
    for number in worth_keeping(trials):
        room -= sizes.get(number, 0)
        if room >= 0:
            files.pop(number, None)
    for number in files.keys() - set(busy):
        files[number].unlink(missing_ok=True)


def worth_keeping(trials: Trials) -> list[int]:
    """Return the trials whose checkpoints are of use, the most useful first.

    To be the final network, or to be promoted.
    """
    final = (run for finalist in list_finalists(trials) for run in finalist.runs.values())
    waiting = sorted(trials.waiting, key=lambda trial: -(trial.score or 0.0))[:MOST_KEPT]
    found = [*final, *trials.ranked[:MOST_KEPT], *trials.repeats, *waiting]
    return list(dict.fromkeys(trial.number for trial in found))
