"""The dashboard on many runs: first paint, how soon a line is on the page, memory; and questions.

    python benchmarks/dashboard.py [--runs 200] [--trials 10000] [--pages 50] [--long-bytes 0]
        [--pairs 4]

A folder is made with so many runs, one of them a search of so many trials. The server is started as
a command. Measured are the seconds until its first page has every run (and, where Playwright finds
a Chromium, until a browser has painted it), the seconds from a line of a journal until all open
pages have been told of it, and the most memory the server had. `--long-bytes` adds a journal of
that length. Then a small model is served and asked by one and by a hundred at once. At last one
search is run in pairs with a dashboard and two open pages on every second trial: the ratio
of the times of a trial, watched and alone. Prints one JSON object.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

import interstellar
from interstellar.architecture.notation import code_text
from interstellar.architecture.search_space import SearchSpace
from interstellar.records.journal import Journal
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import ANY, Experiment, experiment_text
from interstellar.runs.search_plan import SearchPlan, StrategyName
from interstellar.training.presets import LINK_PREDICTION

SEARCH = ("geography-S3", "--trials", "12", "--epochs", "20", "--dim", "64", "--device", "cpu")
N_LINES = 20
"""Whose way to the pages is timed, for a small and for the long journal."""
SECONDS = 120
DATA = {"name": "mine", "entities": 1234, "relations": 5, "train": 400, "valid": 20, "test": 20}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--long-bytes", type=int, default=0)
    parser.add_argument("--pairs", type=int, default=4)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "runs"
        make_folder(folder, given.runs, given.trials)
        found: dict[str, Any] = {"runs": given.runs, "trials": given.trials, "pages": given.pages}
        found |= measure_dashboard(folder, given.runs, given.trials, given.pages)
        if given.long_bytes:
            shutil.rmtree(folder)
            make_folder(folder, 2, 10)
            found["long"] = measure_long(folder, given.long_bytes)
        found["serve"] = measure_questions(Path(name) / "model")
        if given.pairs:
            found["watched"] = measure_watched(Path(name) / "watched", given.pairs)
    print(json.dumps(found, indent=2))


def make_folder(folder: Path, n_runs: int, n_trials: int) -> None:
    """Write trainings, and one search."""
    for i in range(n_runs - 1):
        code = code_text(SearchSpace().sample(np.random.default_rng(i)))
        run = begin(folder / f"group {i % 7}" / f"training {i}", code)
        lines = [event("started", data=DATA, graph_sha256="0" * 64)]
        lines += [epoch(number, 0.01 * number) for number in range(1, 21)]
        write_lines(run, lines)
    search = begin(folder / "search", ANY, SearchPlan(strategy=StrategyName.RANDOM))
    rng, space = np.random.default_rng(0), SearchSpace()
    lines = [event("started", data=DATA, graph_sha256="0" * 64)]
    for number in range(n_trials):
        code = code_text(space.sample(rng))
        lines += trial(number, code, float(rng.random()))
    write_lines(search, lines)


def begin(path: Path, code: str, plan: SearchPlan | None = None) -> RunFolder:
    experiment = Experiment(
        data="mine", architecture=code, seed=0, settings=replace(LINK_PREDICTION, dim=64), plan=plan
    )
    return RunFolder.create(path, experiment=experiment_text(experiment), environment={})


def event(name: str, **payload: Any) -> dict[str, Any]:
    return {"event": name, "time": "2026-01-01T00:00:00.000+00:00", **payload}


def epoch(number: int, mrr: float) -> dict[str, Any]:
    valid = {"mrr": mrr, "hits@1": mrr / 2, "hits@10": mrr, "n": 20}
    return event("epoch", epoch=number, loss=1.0 / number, valid=valid, is_best=True)


def trial(number: int, code: str, score: float) -> list[dict[str, Any]]:
    changes = {"learning_rate": 0.001 * (1 + number % 50), "dim": 64}
    valid = {"mrr": score, "hits@1": score / 2, "hits@10": score, "n": 20}
    curve = [score * (i + 1) / 10 for i in range(10)]
    result = {"score": score, "valid": valid, "curve": curve, "epochs": 10, "best_epoch": 10}
    return [
        event("proposed", number=number, kind="trial", code=code, changes=changes),
        event("ended", number=number, **result, seconds=9.0, elapsed=10.0 * (number + 1)),
    ]


def write_lines(run: RunFolder, lines: list[dict[str, Any]]) -> None:
    with run.journal_file.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


@contextmanager
def serving(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a command that serves, and return it with its address."""
    with subprocess.Popen(
        [sys.executable, "-m", "interstellar", *map(str, arguments), "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield process, json.loads(process.stdout.readline())["address"]
        finally:
            process.kill()


def fetch(address: str) -> str:
    with urllib.request.urlopen(address, timeout=SECONDS) as reply:
        text: str = reply.read().decode()
        return text


def peak_mib(process: subprocess.Popen[str]) -> float:
    """Return the most memory that a process has had."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def measure_dashboard(folder: Path, n_runs: int, n_trials: int, n_pages: int) -> dict[str, Any]:
    begun = time.perf_counter()
    with ExitStack() as stack, serving("dashboard", folder) as (process, address):
        listening = time.perf_counter() - begun
        asked = time.perf_counter()
        assert fetch(address).count("<tr data-part") == n_runs
        first_page = time.perf_counter() - asked
        while f"{n_trials:,} trials" not in (page := fetch(address)) or 'class="unread"' in page:
            time.sleep(0.05)
        all_read = time.perf_counter() - asked
        asked = time.perf_counter()
        fetch(address)
        warm_page = time.perf_counter() - asked
        painted = paint_in_browser(address)
        pages = [stack.enter_context(Page.open(f"{address}events")) for _ in range(n_pages)]
        small = RunFolder(folder / "group 0" / "training 0")
        small_lines = time_lines(
            small, pages, [epoch(21 + i, 0.5 + i / 100) for i in range(N_LINES)]
        )
        search = RunFolder(folder / "search")
        code = code_text(SearchSpace().sample(np.random.default_rng(1)))
        ends = [trial(10**6 + i, code, 1.01 + i / 100)[::-1] for i in range(N_LINES)]
        write_lines(search, [line for _, line in ends])
        long_lines = time_lines(search, pages, [line for line, _ in ends])
        return {
            "listening_seconds": round(listening, 2),
            "first_page_seconds": round(first_page, 3),
            "all_runs_read_seconds": round(all_read, 2),
            "warm_page_seconds": round(warm_page, 3),
            "painted_seconds": painted,
            "line_of_small_run": small_lines,
            "line_of_search": long_lines,
            "peak_mib": round(peak_mib(process), 1),
        }


class Page:
    """An open page: listens, and notes when each message came."""

    def __init__(self, stream: Any) -> None:
        self.messages: list[tuple[float, str]] = []
        self._stream = stream
        threading.Thread(target=self._listen, daemon=True).start()

    @classmethod
    @contextmanager
    def open(cls, address: str) -> Iterator["Page"]:
        with urllib.request.urlopen(address, timeout=SECONDS) as stream:
            yield cls(stream)

    def _listen(self) -> None:
        try:
            for line in self._stream:
                if line.startswith(b"data: "):
                    self.messages.append((time.perf_counter(), line.decode()))
        except (OSError, ValueError, AttributeError):  # the server was ended
            return

    def wait(self, word: str) -> float:
        """Return when a word came."""
        deadline = time.perf_counter() + SECONDS
        while time.perf_counter() < deadline:
            for when, text in self.messages:
                if word in text:
                    return when
            time.sleep(0.002)
        raise TimeoutError(word)


def time_lines(run: RunFolder, pages: list[Page], lines: list[dict[str, Any]]) -> dict[str, float]:
    """Return the seconds from a line of a journal until the last page was told, over some lines."""
    seconds = []
    with Journal.open(run.journal_file) as journal:
        for line in lines:
            payload = {name: value for name, value in line.items() if name not in ("event", "time")}
            score = line["score"] if "score" in line else line["valid"]["mrr"]
            begun = time.perf_counter()
            journal.append(line["event"], **payload)
            told = max(page.wait(f"mrr {score:.3f}") for page in pages)
            seconds.append(told - begun)
            time.sleep(0.1)
    return {
        "median_seconds": round(statistics.median(seconds), 3),
        "longest_seconds": round(max(seconds), 3),
    }


def paint_in_browser(address: str) -> float | None:
    """Return the seconds until a browser has painted the list; None: there is no browser."""
    program = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 (may not be there)
    except ImportError:
        return None
    if program is None:
        return None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(address)
        page.locator("#status.live").wait_for()
        script = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        painted: float = page.evaluate(script)
        browser.close()
    return round(painted / 1000, 3)


def measure_long(folder: Path, n_bytes: int) -> dict[str, float]:
    """Return how long a very long journal takes to be read, and the memory for it."""
    line = json.dumps(epoch(1, 0.1)) + "\n"
    block = (line * (2**20 // len(line))).encode()
    journal = folder / "group 0" / "training 0" / "journal.jsonl"
    with journal.open("ab") as file:
        for _ in range(n_bytes // len(block)):
            file.write(block)
        file.write((json.dumps(epoch(39, 0.987)) + "\n").encode())
    longest = 0.0
    with serving("dashboard", folder) as (process, address):
        begun = time.perf_counter()
        while True:
            asked = time.perf_counter()
            page = fetch(address)
            longest = max(longest, time.perf_counter() - asked)
            if "mrr 0.987" in page:
                break
            time.sleep(0.2)
        return {
            "bytes": journal.stat().st_size,
            "read_seconds": round(time.perf_counter() - begun, 1),
            "longest_page_seconds": round(longest, 3),
            "peak_mib": round(peak_mib(process), 1),
        }


def measure_questions(folder: Path) -> dict[str, Any]:
    """Return the time of a question alone, and of one among a hundred at once."""
    graph = interstellar.load("synthetic:entities=3000,seed=0")
    assert isinstance(graph, interstellar.KnowledgeGraph)
    interstellar.train(graph, "ComplEx", dim=64, epochs=1, device="cpu", out=folder, progress=False)
    entities, relation = graph.entities.to_list(), graph.relations.name(0)
    with serving("serve", folder, "--device", "cpu") as (process, address):

        def ask(i: int) -> None:
            query = urlencode({"subject": entities[i], "relation": relation})
            assert json.loads(fetch(f"{address}predict?{query}"))["query"]["subject"] == entities[i]

        ask(0)
        begun = time.perf_counter()
        for i in range(200):
            ask(i)
        alone = (time.perf_counter() - begun) / 200
        with ThreadPoolExecutor(100) as pool:
            begun = time.perf_counter()
            list(pool.map(ask, range(2000)))
        together = (time.perf_counter() - begun) / 2000
        return {
            "entities": len(entities),
            "alone_ms": round(1000 * alone, 2),
            "among_100_ms": round(1000 * together, 2),
            "peak_mib": round(peak_mib(process), 1),
            "threads": os.environ.get("OMP_NUM_THREADS"),
        }


def measure_watched(folder: Path, n_pairs: int) -> dict[str, Any]:
    """Return how much longer a search takes with a dashboard and two open pages on it.

    One search is run again and again, each with a dashboard on it whose server is stopped (SIGSTOP)
    for every second trial, in the next search for the others. So each trial is compared with
    itself, and what else the machine does slows watched and unwatched ones alike.
    """
    folder.mkdir()
    run_search(folder, 0)  # what is read from the disk is in memory from here on
    searches = [run_search(folder, i % 2) for i in range(2 * n_pairs)]
    seconds = np.array([each for each, _ in searches])
    number, search = np.arange(seconds.shape[1]), np.arange(2 * n_pairs)[:, None]
    is_watched = number % 2 == search % 2
    watched = np.nanmedian(np.where(is_watched, seconds, np.nan), axis=0)
    alone = np.nanmedian(np.where(is_watched, np.nan, seconds), axis=0)
    ratios = watched / alone
    drawn = np.random.default_rng(0).choice(ratios, (10_000, len(ratios)))
    return {
        "search": " ".join(SEARCH),
        "searches": len(searches),
        "trials": len(ratios),
        "load": round(os.getloadavg()[0], 1),
        "cpus": os.cpu_count(),
        "median_ratio_of_seconds": round(float(np.median(ratios)), 4),
        "interval_95": np.quantile(np.median(drawn, axis=1), [0.025, 0.975]).round(4).tolist(),
        "ratio_of_all_seconds": round(float(watched.sum() / alone.sum()), 4),
        "server_cpu_share": round(statistics.median(share for _, share in searches), 4),
    }


def run_search(folder: Path, parity: int) -> tuple[list[float], float]:
    """Return the seconds of each trial, and the server's CPU time as a share of the search's.

    The server runs during trials of one parity only.
    """
    out = folder / "search"
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "interstellar", "search", *SEARCH, "--out", str(out)]
    with ExitStack() as stack:
        server, address = stack.enter_context(serving("dashboard", folder))
        stack.enter_context(Page.open(f"{address}events?run=search"))
        stack.enter_context(Page.open(f"{address}events"))
        before = cpu_seconds(server)
        search = stack.enter_context(
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        )
        searching = 0.0
        while search.poll() is None:
            is_watched = len(ends_of(out)) % 2 == parity
            server.send_signal(signal.SIGCONT if is_watched else signal.SIGSTOP)
            with suppress(OSError, IndexError):
                searching = cpu_seconds(search)
            time.sleep(0.02)
        server.send_signal(signal.SIGCONT)
        assert search.returncode == 0
        share = (cpu_seconds(server) - before) / searching
    return np.diff([0.0, *(end["elapsed"] for end in ends_of(out))]).tolist(), share


def ends_of(run: Path) -> list[dict[str, Any]]:
    """Return the ends of trials in a journal, if there is one."""
    journal = run / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True) if journal.exists() else []
    ends = (line for line in lines if line.startswith(b'{"event": "ended"') and line[-1:] == b"\n")
    return [json.loads(line) for line in ends]


def cpu_seconds(process: subprocess.Popen[Any]) -> float:
    """Return the CPU time that a process has had."""
    fields = (
        Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    )
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
