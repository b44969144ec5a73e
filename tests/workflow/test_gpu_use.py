"""How busy GPUs are, as a program beside us says."""

import os
from pathlib import Path

import pytest

from interstellar.workflow.gpu_use import describe_gpu, watching_gpus
from tests.dashboard.small_folders import wait_until

needs_scripts = pytest.mark.skipif(os.name == "nt", reason="a script stands for the program")


@needs_scripts
def test_each_gpu_has_the_line_that_was_said_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(
        "#!/bin/sh\necho '0, 10, 1024, 143771'\necho '1, [N/A], 0, 2048'\n"
        "echo '0, 83, 12595, 143771'\necho '2, 0, 0, 2048'\nexec sleep 60\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    with watching_gpus() as list_gpus:
        wait_until(lambda: len(list_gpus()) == 2)
        found = list_gpus()

    assert found == ["0: 83 % busy, 12.3 of 140.4 GiB", "2: 0 % busy, 0.0 of 2.0 GiB"]


def test_without_the_program_there_is_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with watching_gpus() as list_gpus:
        assert list_gpus() == []


@pytest.mark.parametrize("line", ["", "No devices were found", "0, [N/A], 1, 2", "0, 1, 2, 3, 4"])
def test_what_is_no_such_line_is_left_out(line: str) -> None:
    assert describe_gpu(line) is None
