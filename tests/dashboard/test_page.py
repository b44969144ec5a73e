from pathlib import Path

from interstellar.dashboard.board import View
from interstellar.dashboard.page import read_files, write_list, write_runs
from interstellar.reporting.web_page import read_style

EVIL = "<script>alert(1)</script>"


def test_the_list_loads_only_from_its_own_server() -> None:
    page = write_list(Path("/somewhere/mine"), {"a": "<tr data-part='a'></tr>"}, is_cut_short=False)

    assert "<title>Runs in mine</title>" in page
    assert "<tr data-part='a'></tr>" in page
    assert "http" not in page.replace("http-equiv", "")
    assert "style=" not in page
    assert " onclick" not in page
    assert page.count("<script") == 1
    assert '<script src="/dashboard.js" defer></script>' in page


def test_a_list_that_is_not_whole_says_so() -> None:
    assert "more folders" in write_list(Path("x"), {}, is_cut_short=True)
    assert "more folders" not in write_list(Path("x"), {}, is_cut_short=False)


def test_a_page_says_what_it_listens_to() -> None:
    page = write_runs(View(("a&b", "c")), {})

    assert 'data-stream="/events?run=a%26b&amp;run=c"' in page
    assert "2 runs side by side" in page


def test_names_are_escaped() -> None:
    for page in (
        write_list(Path(EVIL), {}, is_cut_short=False),
        write_runs(View((EVIL,)), {}),
        write_runs(View((EVIL, "b")), {}),
    ):
        assert EVIL not in page


def test_the_files_of_the_pages_are_there_and_load_nothing_from_elsewhere() -> None:
    files = read_files()

    assert set(files) == {"/dashboard.css", "/dashboard.js", "/icon.svg"}
    assert files["/dashboard.css"][0].startswith(read_style())
    for content, _ in files.values():
        assert "http" not in content.replace("http://www.w3.org/2000/svg", "")
        assert "url(" not in content
