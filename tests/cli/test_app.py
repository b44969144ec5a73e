"""The program as a whole: help, errors, exit codes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interstellar.cli.app import run
from tests.cli.run_command import run_command


def test_help_needs_neither_torch_nor_arrow() -> None:
    code = (
        "import sys; from interstellar.cli.app import run;"
        "run(['--help']); run(['data', '--help']); run(['train', '--help']);"
        "print(sorted(m for m in ('torch', 'pyarrow', 'scipy', 'pooch') if m in sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["data", "info", "nowhere.tsv"], "nowhere.tsv: is neither a file nor a set"),
        (["data", "info", "no/where.tsv"], "no/where.tsv: does not exist"),
        (["data", "fetch", "nothing"], "'nothing' is not the name of a set"),
        (["data", "info", "geography-S1", "--split", "9"], "is not three numbers"),
        (["data", "info", "geography-S1", "--split", "80/10/10"], "has splits of its own"),
        (["data", "info", "synthetic-alignment:entities=60", "--hops"], "is a pair of graphs"),
        (["data", "info", "synthetic:entitis=5"], "entitis"),
        (["paths", "geography-S1", "--out", "x/y.npy"], "is not a folder"),
        (["paths", "geography-S1", "--out", "p.npy", "--length", "0"], "length is 0"),
        (["paths", "geography-S1", "--out", "p.npy", "--alpha", "0.5"], "depth_bias is 0.5"),
        (["paths", "geography-S1", "--out", "p.npy", "--alpha", "1"], "depth_bias is 1"),
        (["paths", "geography-S1", "--out", "p.npy", "--beta", "0.9"], "one graph"),
        (["paths", "geography-S1", "--out", "p.npy", "--rule", "x"], "'x'"),
        (["paths", "geography-S1", "--out", "p.npy", "--device", "tpu"], "'tpu' is unknown"),
        (["paths", "geography-S1", "--out", "p.npy", "--seed", "-1"], "seed -1 is negative"),
        (["show", "[0,4,10,1,1,0,0,1,1,0]"], "has 10 numbers, but a code has 11"),
        (["show", "[9,4,10,1,1,0,0,1,1,0,1]"], "9"),
        (["show", "O_r = s % r; v = O_r"], "%"),
        (["show", '{"format": "interstellar-architecture"}'], "format"),
        (["show", "TransX"], "'TransX' is not an architecture"),
        (["space", "--subspace", "P9"], "'P9' is not the name of a subspace"),
        (["nonsense"], "No such command 'nonsense'"),
        (["data", "info", "geography-S1", "--nonsense"], "--nonsense"),
        (["paths", "geography-S1"], "--out"),
    ],
)
def test_a_fault_of_the_user_is_one_line_exit_2_and_writes_nothing(
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    outcome = run_command(capfd, *arguments)

    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert words in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_gpu_that_is_not_there_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    outcome = run_command(capfd, "paths", "geography-S1", "--out", "p.npy", "--device", "cuda:99")

    assert outcome.code == 2
    assert "CUDA devices here" in outcome.err


def test_ctrl_c_exits_130_whatever_it_becomes(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that is being imported may turn it into an error of its own."""

    def import_something(*_: object, **__: object) -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        except KeyboardInterrupt:
            raise RecursionError from None

    monkeypatch.setattr("interstellar.cli.app.app", import_something)

    assert run(["space"]) == 130
    assert capfd.readouterr().err == "error: interrupted.\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_of_the_program_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr("interstellar.cli.app.app", fail)

    with pytest.raises(RecursionError):
        run(["space"])


def test_ctrl_c_exits_130_and_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "paths.npy"
    command = [sys.executable, "-m", "interstellar", "paths", "synthetic:entities=200000"]
    process = subprocess.Popen([*command, "--out", str(out)], stderr=subprocess.PIPE)
    time.sleep(3)

    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert b"error: interrupted" in err
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_reported_and_the_file_before_survives(tmp_path: Path) -> None:
    """A limit on the size of files stands for a disk without room."""
    out = tmp_path / "paths.npy"
    out.write_text("before")
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        "from interstellar.cli.app import main;"
        f"main(['paths', 'geography-S1', '--out', {str(out)!r}])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert out.read_text() == "before"
    assert list(tmp_path.iterdir()) == [out]
