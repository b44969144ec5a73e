"""A saved model, opened."""

import os
from pathlib import Path

from interstellar.device import find_device
from interstellar.workflow.model import Model
from interstellar.workflow.run_place import RunPlace


def open(path: str | os.PathLike[str], *, device: str = "auto") -> Model:  # noqa: A001 (ist.open)
    """Open the folder of a finished run: the `out` of a training, or what `Model.save` wrote.

    Args:
        path: The folder.
        device: auto, cpu, cuda or cuda:i.

    Raises:
        SettingsError: It is no run, one of a search, or not finished.
        DataError: A file of it was cut or altered, or is of a newer version.
    """
    model = Model(RunPlace(Path(path)), find_device(device))
    assert model.trained is not None  # what cannot be opened is said now
    return model
