import gzip
import hashlib
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from interstellar.data.catalogue import NamedSet, SetFile, data_root, is_available, require_set
from interstellar.data.fetching import Patience, fetch
from interstellar.data.graph import Task
from interstellar.errors import FetchError
from tests.data.loopback_server import Answer, serve

HURRY = Patience(pause_seconds=0.01, silence_seconds=5)
FINISHED = {
    "triples_1": b"0\t0\t1\n1\t0\t2\n",
    "sup_ent_ids": b"2\t12\n",
    "ref_ent_ids": b"0\t10\n1\t11\n",
}
SENT = {
    "triples_1": b"0\t0\t1\r\n1\t0\t2\r\n",
    "sup_ent_ids": b"2\t12\n",
    "ref_ent_ids": b"0\t10\r\n1\t11\r\n2\t12\r\n",
}


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")


def test_the_files_arrive_finished_and_verified(tmp_path: Path) -> None:
    with serve(answers()) as server:
        folder = fetch(small_set(), tmp_path, base_url=server.url, patience=HURRY)

    assert folder == tmp_path / "small" / "set"
    assert contents(tmp_path) == {f"small/set/{name}": body for name, body in FINISHED.items()}
    assert is_available(small_set(), tmp_path)


def test_progress_tells_each_address(tmp_path: Path) -> None:
    told: list[str] = []

    with serve(answers()) as server:
        fetch(small_set(), tmp_path, base_url=server.url, progress=told.append)

    assert len(told) == 3
    assert told[0] == f"Downloading {server.url}/owner/data/triples_1"


def test_an_md5_is_as_good_where_nothing_else_is_known(tmp_path: Path) -> None:
    body = FINISHED["triples_1"]
    digest = hashlib.md5(body).hexdigest()
    wanted = replace(small_set(), files=(set_file("triples_1", digest=digest),))

    with serve(answers()) as server:
        fetch(wanted, tmp_path, base_url=server.url)

    assert contents(tmp_path) == {"small/set/triples_1": body}


def test_a_set_that_is_there_is_used_without_a_request(tmp_path: Path) -> None:
    place_files(tmp_path, dict.fromkeys(FINISHED, b"the user's own"))

    with serve({}) as server:
        folder = fetch(small_set(), tmp_path, base_url=server.url)

    assert server.asked == []
    assert (folder / "triples_1").read_bytes() == b"the user's own"


def test_only_missing_files_are_fetched_and_others_stay_as_they_are(tmp_path: Path) -> None:
    place_files(tmp_path, {"triples_1": b"the user's own", "sup_ent_ids": b"2\t12\r\n"})

    with serve(answers()) as server:
        folder = fetch(small_set(), tmp_path, base_url=server.url)

    assert server.asked == ["owner/data/ref_ent_ids"]
    assert (folder / "triples_1").read_bytes() == b"the user's own"
    assert (folder / "ref_ent_ids").read_bytes() == FINISHED["ref_ent_ids"]
    assert len(contents(tmp_path)) == 3


def test_a_server_that_recovers_is_asked_again(tmp_path: Path) -> None:
    given = answers()
    given["owner/data/triples_1"].fails_first = 2

    with serve(given) as server:
        fetch(small_set(), tmp_path, base_url=server.url, patience=HURRY)

    assert server.asked.count("owner/data/triples_1") == 3


def test_a_wrong_checksum_is_reported(tmp_path: Path) -> None:
    message = fetch_and_fail(tmp_path, Answer(b"0\t0\t9\n1\t0\t2\n"))

    assert f"expected sha256 {hashlib.sha256(FINISHED['triples_1']).hexdigest()}" in message
    assert hashlib.sha256(b"0\t0\t9\n1\t0\t2\n").hexdigest() in message


def test_a_connection_cut_in_mid_body_is_reported(tmp_path: Path) -> None:
    message = fetch_and_fail(tmp_path, Answer(b"0\t0\t1\n", stated_length="14"))

    assert "did not arrive whole" in message


def test_a_missing_file_is_reported_and_not_asked_for_again(tmp_path: Path) -> None:
    message = fetch_and_fail(tmp_path, Answer(status=404), n_asked=1)

    assert "the server answers 404" in message


def test_a_server_that_stays_broken_is_reported(tmp_path: Path) -> None:
    message = fetch_and_fail(tmp_path, Answer(status=500), n_asked=3)

    assert "the server answers 500" in message


def test_a_body_that_is_far_too_long_is_not_read_to_its_end(tmp_path: Path) -> None:
    message = fetch_and_fail(tmp_path, Answer(b"x" * 5_000_000), n_asked=1)

    assert "the server sends more than 65,560 bytes, where about 12 were expected" in message


def test_a_body_that_unpacks_to_far_too_much_is_refused(tmp_path: Path) -> None:
    bomb = gzip.compress(b"x" * 50_000_000)

    message = fetch_and_fail(tmp_path, Answer(bomb, headers={"Content-Encoding": "gzip"}))

    assert "the server sends more than" in message


def test_a_body_that_takes_too_long_is_refused(tmp_path: Path) -> None:
    slow = Patience(file_seconds=-1)

    message = fetch_and_fail(tmp_path, Answer(SENT["triples_1"]), patience=slow)

    assert "not complete after" in message


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"", stated_length="many"),
        Answer(b"no gzip", headers={"Content-Encoding": "gzip"}),
        Answer(status=302, headers={"Location": "ftp://127.0.0.1/file"}),
        Answer(status=302, headers={"Location": "http://[::"}),
        Answer(status=302, headers={"Location": "/owner/data/triples_1"}),
    ],
    ids=["length", "encoding", "scheme", "address", "circle"],
)
def test_nonsense_from_a_server_is_reported(tmp_path: Path, answer: Answer) -> None:
    fetch_and_fail(tmp_path, answer)


def test_a_network_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

    with pytest.raises(FetchError, match=r"ConnectionRefusedError.*by hand") as caught:
        fetch(small_set(), tmp_path, base_url=f"http://127.0.0.1:{port}", patience=HURRY)

    assert caught.value.exit_code == 1
    assert list(tmp_path.iterdir()) == []


def test_a_failure_takes_nothing_away_from_a_set_that_is_partly_there(tmp_path: Path) -> None:
    place_files(tmp_path, {"triples_1": b"the user's own"})

    with serve({}) as server, pytest.raises(FetchError):
        fetch(small_set(), tmp_path, base_url=server.url)

    assert contents(tmp_path) == {"small/set/triples_1": b"the user's own"}


def test_a_root_that_did_not_exist_does_not_exist_after_a_failure(tmp_path: Path) -> None:
    with serve({}) as server, pytest.raises(FetchError):
        fetch(small_set(), tmp_path / "new" / "root", base_url=server.url)

    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    def interrupt(sentence: str) -> None:
        if "sup_ent_ids" in sentence:
            raise KeyboardInterrupt

    with serve(answers()) as server, pytest.raises(KeyboardInterrupt):
        fetch(small_set(), tmp_path, base_url=server.url, progress=interrupt)

    assert list(tmp_path.iterdir()) == []


def test_a_root_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "small").write_text("a file where a folder should be")

    with serve(answers()) as server, pytest.raises(FetchError, match="could not be written"):
        fetch(small_set(), tmp_path, base_url=server.url)


def test_fetches_at_the_same_time_do_not_disturb_each_other(tmp_path: Path) -> None:
    n_threads = 6
    start = threading.Barrier(n_threads)
    failures: list[BaseException] = []

    def fetch_once() -> None:
        start.wait()
        try:
            fetch(small_set(), tmp_path, base_url=server.url)
        except BaseException as error:
            failures.append(error)

    with serve(answers()) as server:
        run_together(fetch_once, n_threads)

    assert failures == []
    assert contents(tmp_path) == {f"small/set/{name}": body for name, body in FINISHED.items()}


def test_two_fetches_that_end_one_after_the_other_keep_the_first(tmp_path: Path) -> None:
    def fetch_in_between(sentence: str) -> None:
        if "ref_ent_ids" in sentence:
            fetch(small_set(), tmp_path, base_url=server.url)

    with serve(answers()) as server:
        fetch(small_set(), tmp_path, base_url=server.url, progress=fetch_in_between)

    assert contents(tmp_path) == {f"small/set/{name}": body for name, body in FINISHED.items()}


def test_a_set_without_a_known_address_says_where_it_comes_from(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="nju-websoft/RSN") as caught:
        fetch(require_set("EN-FR-dense"), tmp_path)

    assert str(tmp_path / "entity-alignment" / "EN-FR-dense") in str(caught.value)
    assert "triples_1" in str(caught.value)


def test_an_address_of_another_kind_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=r"'file:///etc' is not an address"):
        fetch(small_set(), tmp_path, base_url="file:///etc")


@pytest.mark.benchmark_sets
@pytest.mark.parametrize("name", ["countries-S1", "DBP-WD", "EN-DE"])
def test_a_published_set_is_fetched_from_a_mirror_that_holds_it(tmp_path: Path, name: str) -> None:
    if not os.environ.get("INTERSTELLAR_DATA"):
        pytest.skip("$INTERSTELLAR_DATA does not say where the benchmark sets lie")
    known = require_set(name)
    original = known.folder_below(data_root())
    if not original.exists():
        pytest.skip(f"{original} is not there")

    with serve(mirror(known, original)) as server:
        folder = fetch(known, tmp_path, base_url=server.url)

    for file in known.files:
        assert (folder / file.name).read_bytes() == (original / file.name).read_bytes()


def mirror(known: NamedSet, original: Path) -> dict[str, Answer]:
    """Answer as the source of a set does: all pairs in one file, foreign line ends."""
    given = {}
    for file in known.files:
        body = (original / file.name).read_bytes()
        if file.without:
            body += (original / file.without).read_bytes()
        given[str(file.path)] = Answer(body.replace(b"\n", b"\r\n"))
    return given


def set_file(name: str, digest: str | None = None) -> SetFile:
    return SetFile(
        name=name,
        path=f"owner/data/{name}",
        digest=digest or hashlib.sha256(FINISHED[name]).hexdigest(),
        n_bytes=len(FINISHED[name]),
        without="sup_ent_ids" if name == "ref_ent_ids" else None,
    )


def small_set() -> NamedSet:
    return NamedSet(
        name="small",
        task=Task.ENTITY_ALIGNMENT,
        folder="small/set",
        source="this file",
        files=tuple(set_file(name) for name in FINISHED),
    )


def answers() -> dict[str, Answer]:
    return {f"owner/data/{name}": Answer(body) for name, body in SENT.items()}


def place_files(root: Path, files: dict[str, bytes]) -> None:
    folder = small_set().folder_below(root)
    folder.mkdir(parents=True)
    for name, body in files.items():
        (folder / name).write_bytes(body)


def contents(root: Path) -> dict[str, bytes]:
    paths = [path for path in root.rglob("*") if not path.is_dir()]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def fetch_and_fail(
    root: Path, answer: Answer, *, n_asked: int | None = None, patience: Patience = HURRY
) -> str:
    """Let one file be answered like this; return the message, having seen nothing left behind."""
    given = answers() | {"owner/data/triples_1": answer}

    with serve(given) as server, pytest.raises(FetchError) as caught:
        fetch(small_set(), root, base_url=server.url, patience=patience)

    message = str(caught.value)
    assert f"{server.url}/owner/data/triples_1" in message
    assert str(root / "small" / "set") in message
    assert list(root.iterdir()) == []
    assert n_asked is None or server.asked.count("owner/data/triples_1") == n_asked
    return message


def run_together(work: Callable[[], None], n_threads: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
