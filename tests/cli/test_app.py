"""The program as a whole: help, errors, exit codes, flags of version 0.1."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from interstellar.cli.app import (
    FORMER,
    app,
    describe_interruption,
    main,
    modernise,
    run,
    showing_log,
    translate,
)
from interstellar.watching import Loudness
from tests.cli.run_command import assert_refused, run_command
from tests.imported_modules import list_imported

TRAIN = ["train", "geography-S1", "--architecture", "TransE"]


def test_help_needs_neither_torch_nor_numpy_nor_arrow() -> None:
    code = (
        "from interstellar.cli.app import run;"
        "run(['--help']); run(['data', '--help']); run(['search', '--help'])"
    )

    assert list_imported(code, "torch", "numpy", "pyarrow", "scipy", "pooch") == []


@pytest.mark.parametrize("given", [None, "3"])
def test_numpy_has_one_thread_unless_told(
    monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    """Its matrices are small, and threads that wait for each other made a search slow."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", given or "")
    if given is None:
        monkeypatch.delenv("OPENBLAS_NUM_THREADS")

    with pytest.raises(SystemExit):
        main(["--version"])

    assert os.environ["OPENBLAS_NUM_THREADS"] == (given or "1")


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

    assert_refused(outcome, words)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_exits_1_in_one_line(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    outcome = run_command(capfd, "paths", "geography-S1", "--out", tmp_path / "x" / "y.npy")

    assert outcome.code == 1
    assert f"error: {tmp_path / 'x'} is not a folder" in outcome.err
    assert outcome.err.count("\n") == 1


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
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored

    assert run(["space"]) == 130
    assert capfd.readouterr().err == "error: interrupted.\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["align", "run", "--out", "p.tsv", "--iterate", "3"], "The rounds so far are kept"),
        (["align", "run", "--out", "p.tsv", "--iterate=3"], "the same command goes on"),
        (["align", "run", "--out", "p.tsv"], "interrupted."),
        (["train", "x"], "--resume goes on"),
    ],
)
def test_whoever_is_interrupted_reads_how_to_go_on(command: list[str], words: str) -> None:
    assert words in describe_interruption(command)


@pytest.mark.parametrize(
    ("command", "message", "said"),
    [
        (["align", "run"], "Choose `top_k` or `one_to_one`.", "Choose --top-k or --one-to-one."),
        (["predict", "run"], "`k` is 0, `object` is x", "-k is 0, --object is x"),
        (["data", "info", "x"], "Give `split`.", "Give --split."),
        (
            ["predict", "run"],
            "Use `interstellar align` or `json`",
            "Use `interstellar align` or `json`",
        ),
        (["nonsense"], "Give `split`.", "Give `split`."),
        (["search"], "Go on with `resume=True`.", "Go on with --resume."),
        (["search"], "Try `strategy=random`.", "Try --strategy random."),
        (["train", "x"], "Give `second` and `pairs`.", "Give --with and --pairs."),
    ],
)
def test_arguments_in_messages_of_the_library_are_said_as_flags(
    command: list[str], message: str, said: str
) -> None:
    assert translate(message, command) == said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "geography-S1", "--lr", "1"], "Did you mean --learning-rate?"),
        (["train", "geography-S1", "--learning-rat", "1"], "--learning-rate"),
        (["search", "--n-trials", "3"], "Did you mean --trials?"),
        (["space", "--lr", "1"], "No such option: --lr"),
    ],
)
def test_a_flag_that_is_not_there_is_answered_with_the_one_that_is(
    capfd: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    outcome = run_command(capfd, *arguments)

    assert outcome.code == 2
    assert words in outcome.err


@pytest.mark.parametrize(
    "arguments",
    [["data", "info", "nowhere.tsv"], ["space", "--nonsense"], ["space", "--subspace", "P9"]],
)
def test_with_json_an_error_is_an_object_too(
    capfd: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    outcome = run_command(capfd, *arguments, "--json")

    assert outcome.code == 2
    assert outcome.err == f"error: {json.loads(outcome.out)['error']}\n"


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["data", "info", "no\x1b[31mwhere.tsv"], r"no\x1b[31mwhere.tsv"),
        (["evaluate", "no\x1b[31mrun"], r"no\x1b[31mrun does not exist"),
        ([*TRAIN, "--settings", "odd.toml", "--out", "run"], r"\x1b[31mdim"),
    ],
)
def test_names_in_errors_cannot_command_the_terminal(
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    shown: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("odd.toml").write_text('[training]\n"\\u001b[31mdim" = 8\n')

    outcome = run_command(capfd, *arguments)

    assert outcome.code == 2
    assert "\x1b" not in outcome.err
    assert shown in outcome.err


TOO_LONG = 300 * "x"
SAID = "cannot be written (File name too long). Choose a shorter name."


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([*TRAIN, "--out", TOO_LONG], 1, SAID),
        (["search", "--trials", 1, "--resume", "--out", TOO_LONG], 1, SAID),
        (["data", "convert", "geography-S1", TOO_LONG], 1, SAID),
        (["data", "convert", "geography-S1", f"{TOO_LONG}.csv"], 1, SAID),
        (
            [*TRAIN, "--settings", TOO_LONG, "--out", "run"],
            2,
            "cannot be read (File name too long)",
        ),
    ],
)
def test_a_name_that_no_file_can_have_is_said_in_one_line(
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[object],
    code: int,
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    outcome = run_command(capfd, *arguments)

    assert outcome.code == code
    assert outcome.err.startswith(f"error: {TOO_LONG}")
    assert words in outcome.err
    assert outcome.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_program_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr("interstellar.cli.app.app", fail)

    with pytest.raises(RecursionError):
        run(["space"])


def test_ctrl_c_exits_130_and_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "paths.npy"
    command = [sys.executable, "-m", "interstellar", "paths", "synthetic:entities=600000"]
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
    assert done.stderr.startswith(f"error: {out} ")
    assert "Traceback" not in done.stderr
    assert out.read_text() == "before"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("search x --faithful --out y", "search x --no-prune --out y"),
        ("search x --select mrr", "search x --metric mrr"),
        ("tune x --select=mrr --faithful", "tune x --metric=mrr --no-prune"),
        ("align run --direction first", "align run --direction source"),
        ("align run --direction=second", "align run --direction=target"),
        ("export run --form tsv", "export run --format tsv"),
        ("data convert a b --form rsn", "data convert a b --format rsn"),
    ],
)
def test_a_former_flag_is_taken_for_the_one_of_today(before: str, now: str) -> None:
    words, notes = modernise(before.split())

    assert words == now.split()
    assert notes
    assert all("the old name goes in version 0.3." in note for note in notes)


@pytest.mark.parametrize(
    "line", ["train x --select mrr", "align run --direction both", "search x --formula y", ""]
)
def test_everything_else_stays_as_it_is(line: str) -> None:
    assert modernise(line.split()) == (line.split(), [])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("search x --out y --then-tune", "--then-tune is gone: a search chooses settings too"),
        ("search x --out y --tune-trials 5", "`interstellar tune DATA --architecture RUN`"),
        ("search x --out y --tune-trials=5", "--tune-trials is gone"),
        ("search x --out y --together 4", "side by side by --workers"),
        ("reproduce one-shot x --out y --together 4", "side by side by --workers"),
    ],
)
def test_a_flag_that_is_no_more_is_refused_with_what_to_do_without_it(
    capfd: pytest.CaptureFixture[str], line: str, words: str
) -> None:
    assert_refused(run_command(capfd, *line.split()), words)


def test_a_flag_that_another_command_never_had_is_simply_not_there(
    capfd: pytest.CaptureFixture[str],
) -> None:
    outcome = run_command(capfd, "train", "x", "--out", "y", "--together", "4")

    assert "No such option: --together" in outcome.err


@pytest.mark.parametrize("former", FORMER, ids=lambda former: f"{former.command} {former.before}")
def test_what_a_flag_is_now_is_a_flag_of_its_command(former: object) -> None:
    found = next(one for one in FORMER if one is former)
    command = typer.main.get_command(app)
    for word in found.command.split():
        command = command.commands[word]  # type: ignore[attr-defined]

    flags = {flag for p in command.params for flag in (*p.opts, *p.secondary_opts)}
    assert found.now.split()[0] in flags


@pytest.mark.parametrize("place", [0, 1, 3])
def test_quiet_leaves_nothing_on_standard_error_wherever_it_stands(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, place: int
) -> None:
    words: list[object] = ["show", "RSN", "--draw", tmp_path / "rsn.svg"]
    loud = run_command(capfd, *words)
    words.insert(place, "--quiet")

    quiet = run_command(capfd, *words) if place < 3 else run_command(capfd, *words[:2], "--quiet")

    assert loud.err != ""
    assert (quiet.code, quiet.err) == (0, "")
    assert quiet.out == loud.out


def test_verbose_says_what_is_done_and_what_the_log_says(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    flags = ("--epochs", 3, "--dim", 8, "--device", "cpu", "--out", tmp_path / "run")

    said = run_command(capfd, *TRAIN, *flags, "--verbose").err.splitlines()
    asked = run_command(capfd, "evaluate", tmp_path / "run", "--verbose").err

    assert [line.split(":")[0] for line in said if line.startswith("epoch")] == [
        "epoch 1",
        "epoch 2",
        "epoch 3",
    ]
    assert any(line.startswith("scoring: ") for line in said)
    assert asked.startswith("scoring: ")


def test_the_log_is_shown_without_control_characters_and_only_if_asked(
    capfd: pytest.CaptureFixture[str],
) -> None:
    logger = logging.getLogger("interstellar.engine")

    with showing_log(Loudness.VERBOSE):
        logger.info("halved to %d\x1b[31m", 4)
    with showing_log(Loudness.NORMAL):
        logger.info("not said")

    assert capfd.readouterr().err == "interstellar.engine: halved to 4\\x1b[31m\n"


def test_quiet_and_verbose_at_once_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert_refused(run_command(capfd, "space", "--quiet", "--verbose"), "--quiet and --verbose")


def test_every_command_says_that_it_can_be_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    for words in (["train"], ["data", "info"], ["reproduce", "one-shot"]):
        assert "--quiet" in run_command(capfd, *words, "--help").out
