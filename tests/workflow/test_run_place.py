"""Where runs are made: the user's folder, or one that goes with what uses it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from interstellar.errors import SettingsError
from interstellar.workflow.run_place import choose_place

FORKING_PROGRAM = """
import os, sys
from interstellar.workflow.run_place import choose_place

place = choose_place(None)
place.path.mkdir()
if os.fork() == 0:
    sys.exit()  # as a forked worker of a pool does
os.wait()
print(place.path.is_dir(), place.path)
"""


def test_a_folder_that_is_given_is_the_users(tmp_path: Path) -> None:
    place = choose_place(tmp_path / "run")

    assert (place.path, place.temporary) == (tmp_path / "run", None)


def test_a_temporary_folder_goes_with_the_last_that_holds_it() -> None:
    place = choose_place(None)
    folder = place.path.parent
    kept = place.temporary
    del place
    assert folder.is_dir()

    del kept

    assert not folder.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_that_exits_leaves_the_parents_run_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKING_PROGRAM], capture_output=True, text=True, check=True
    )

    is_there, path = done.stdout.split()
    assert is_there == "True"
    assert not Path(path).exists()  # the parent has removed it at its own end


def test_what_is_resumed_lies_in_a_folder() -> None:
    with pytest.raises(SettingsError, match=r"no folder was given.*Give `out`"):
        choose_place(None, is_resumed=True)
