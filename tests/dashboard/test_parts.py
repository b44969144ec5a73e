from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from interstellar.dashboard.parts import (
    Parts,
    address_of,
    draw_comparison,
    draw_run,
    list_rows,
)
from tests.dashboard.small_folders import add_epoch, follow, look_at_all, write_runs, writing
from tests.reporting.written_runs import DATA, Page, write_search, write_training

EVIL = "<script>alert(1)<"
"""In the name of a folder, which holds no `/`."""


def read_page(parts: Parts) -> Page:
    """Return the parts taken apart; what is not closed is an error."""
    return Page("".join(parts.values()).replace("<input ", "<input-").replace("<input-", "<br "))


def text_of(parts: Parts) -> str:
    return " ".join(read_page(parts).texts)


def test_the_list_has_a_row_for_each_run_the_last_begun_first(tmp_path: Path) -> None:
    write_runs(tmp_path)
    rows = list_rows(follow(tmp_path), {})

    assert list(rows) == ["search", "deep/training", "trained"]
    assert "mrr 0.500" in rows["search"]
    assert "search: 2 trials, 1 under way" in rows["search"]
    assert "finished" in rows["trained"]
    assert 'href="/run?run=deep%2Ftraining"' in rows["deep/training"]


def test_only_rows_of_runs_that_changed_are_written_anew(tmp_path: Path) -> None:
    write_runs(tmp_path)
    followed = follow(tmp_path)
    drawn: dict[str, tuple[int, str]] = {}
    before = list_rows(followed, drawn)

    add_epoch(tmp_path / "deep" / "training", 2, 0.77)
    look_at_all(followed)
    after = list_rows(followed, drawn)

    assert [name for name in after if after[name] is not before[name]] == ["deep/training"]
    assert "mrr 0.770" in after["deep/training"]


def test_a_run_that_cannot_be_read_says_why_in_its_row(tmp_path: Path) -> None:
    write_runs(tmp_path)
    (tmp_path / "search" / "journal.jsonl").write_text("no journal\n")

    row = list_rows(follow(tmp_path), {})["search"]

    assert "line 1 of the journal" in row


def test_a_search_has_its_curve_its_leaders_and_its_best_architecture(tmp_path: Path) -> None:
    followed = follow(write_runs(tmp_path))

    parts = draw_run(followed.runs["search"], followed)

    assert list(parts) == [
        "state",
        "summary",
        "Leaderboard",
        "The best architectures",
        "Settings",
        "Environment",
    ]
    assert "2 trained, 0 known already, 0 failed" in parts["summary"]
    assert parts["summary"].count("<svg") == 2
    assert "<svg" in parts["The best architectures"]
    assert "RSN" in parts["Leaderboard"]


def test_a_search_leads_to_its_trained_winner(tmp_path: Path) -> None:
    write_search(tmp_path / "found", [{"score": 0.2}])
    write_training(tmp_path / "found" / "final", [0.2], test=0.2)
    followed = follow(tmp_path)

    parts = draw_run(followed.runs["found"], followed)

    assert 'href="/run?run=found%2Ffinal"' in parts["winner"]


@pytest.mark.parametrize(
    ("task", "fields"),
    [
        ("link-prediction", ["subject", "object", "relation"]),
        ("entity-alignment", ["source", "target"]),
    ],
)
def test_a_trained_model_can_be_asked_and_no_other(
    task: str, fields: list[str], tmp_path: Path
) -> None:
    write_training(tmp_path / "done", [0.2], test=0.1, data=DATA | {"task": task})
    write_training(tmp_path / "open", [0.2], data=DATA | {"task": task})
    followed = follow(tmp_path)

    parts = draw_run(followed.runs["done"], followed)

    assert [f'name="{field}"' in parts["ask"] for field in fields] == [True] * len(fields)
    assert "ask" not in draw_run(followed.runs["open"], followed)


def test_an_epoch_changes_the_curves_and_leaves_the_rest(tmp_path: Path) -> None:
    followed = follow(write_runs(tmp_path))
    run = followed.runs["deep/training"]
    before = draw_run(run, followed)

    add_epoch(tmp_path / "deep" / "training", 2, 0.7)
    look_at_all(followed)
    after = draw_run(run, followed)

    assert {name for name in after if before.get(name) != after[name]} == {"state", "summary"}


def test_chosen_runs_are_compared_with_their_curves_over_each_other(tmp_path: Path) -> None:
    write_training(tmp_path / "a", [0.2, 0.3])
    write_training(tmp_path / "b", [0.1, 0.4], seed=1)
    write_search(tmp_path / "c", [{"score": 0.2}])
    write_search(tmp_path / "d", [{"score": 0.3}])
    followed = follow(tmp_path)

    parts = draw_comparison(list(followed.runs.values()))

    assert list(parts) == ["block 0", "block 1", "block 2"]
    assert all(f">{name}<" in "".join(parts.values()) for name in "cd")
    assert "".join(parts.values()).count("<svg") == 3


def test_a_run_that_cannot_be_read_does_not_hide_those_it_is_compared_with(tmp_path: Path) -> None:
    write_runs(tmp_path)
    (tmp_path / "search" / "experiment.toml").write_text("no TOML")
    followed = follow(tmp_path)

    parts = draw_comparison(list(followed.runs.values()))

    assert "experiment.toml" in parts["problem search"]
    assert "trained" in parts["block 0"]


def test_names_that_strangers_chose_are_text_and_nothing_else(tmp_path: Path) -> None:
    name = f'{EVIL} "quoted" & more\u202e'
    write_training(tmp_path / name, [0.2], test=0.1, data=DATA | {"name": EVIL, "task": "x"})
    write_search(tmp_path / f"s{name}", [{"score": 0.1}, {"failure": EVIL}], is_finished=False)
    with writing(tmp_path / f"s{name}") as journal:
        journal.append("ended", number=EVIL)
    followed = follow(tmp_path)

    shown = [
        list_rows(followed, {}),
        draw_comparison(list(followed.runs.values())),
        *(draw_run(run, followed) for run in followed.runs.values()),
    ]

    for parts in shown:
        page = read_page(parts)
        assert page.count("script") == 0
        assert EVIL in " ".join(page.texts)
    [link] = [a["href"] for tag, a in read_page(shown[0]).tags if tag == "a" and "s%3C" in str(a)]
    assert parse_qs(urlsplit(str(link)).query) == {"run": [f"s{name}"]}


def test_an_address_holds_any_name() -> None:
    names = ["a b", "ü&run=x", "../up", "100%"]

    address = address_of("/run", names)

    assert parse_qs(urlsplit(address).query)["run"] == names
