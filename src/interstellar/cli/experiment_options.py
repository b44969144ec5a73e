"""What `train`, `search`, `tune` and others have in common: flags, and what SIGTERM does."""

import signal
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

SettingsFile = Annotated[
    Path | None,
    typer.Option("--settings", metavar="FILE|RUN", help="Settings of a TOML file or a run."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in RUN.")]
Out = Annotated[Path, typer.Option(metavar="RUN", help="Folder of the run; a new one.")]
Epochs = Annotated[int | None, typer.Option(help="At most so many.")]
Dim = Annotated[int | None, typer.Option(help="Numbers in an embedding.")]
Precise = Annotated[str | None, typer.Option("--precision", help="auto, float32 or mixed.")]


def stop_on_sigterm() -> None:
    """Treat SIGTERM as Ctrl-C: what was done is saved."""
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
