"""The tables of what searches gain say what the files in results say."""

from typing import Any

import pytest

from tests.manual_page import load_writer

writer = load_writer("tables")
MEASURED = writer.write_tables()
FACTS = {"task": "link-prediction", "n_entities": 135, "n_train": 5216}


@pytest.mark.parametrize("page", writer.PAGES, ids=lambda page: page.name)
def test_the_tables_of_a_page_are_what_the_files_say(page: Any) -> None:
    text = page.read_text(encoding="utf-8")

    assert text == writer.fill(text, MEASURED), f"{page.name} is not up to date: run `make tables`"


def test_every_table_stands_on_a_page() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in writer.PAGES)

    assert sorted(found[2] for found in writer.BLOCK.finditer(pages)) == sorted(MEASURED)
    assert pages.count("<!-- table ") == pages.count("<!-- end of table -->") == len(MEASURED)


def test_of_a_repeated_line_the_last_counts_and_seeds_are_averaged() -> None:
    [row] = writer.read_rows(
        [searched(0.2), searched(0.5), searched(0.7, seed=1), line("random", 0.4)], []
    )

    assert row.n_searches == 2
    assert row.score_by_way == pytest.approx({"search": 0.6, "random": 0.4})


def test_only_ways_of_equal_time_are_compared() -> None:
    rows = writer.read_rows([searched(0.5), line("tune", 0.9, seconds=300)], [])

    assert [row.lead("tune") for row in rows] == [None]
    assert "| – | – | – | .500 |" in writer.searches_table(rows)


def test_the_best_known_model_is_chosen_by_validation_whoever_trained_it() -> None:
    in_search = {"score": 0.6, "test": {"mrr": 0.3}}
    lines = [searched(0.5, known=in_search), line("DistMult", 0.9, valid=0.1)]

    [alone] = writer.read_rows(lines, [checked(valid=0.7, test=0.4)])
    [within] = writer.read_rows(lines, [checked(valid=0.5, test=0.4)])

    assert (alone.known, alone.show("known")) == ("ComplEx", ".400")
    assert (within.known, within.show("known")) == ("RSN", ".300")


def test_models_trained_by_another_rule_do_not_count() -> None:
    [row] = writer.read_rows([searched(0.5)], [checked(valid=0.7, test=0.4, dim=64)])

    assert row.show("known") == "–"


def test_a_known_model_that_won_by_itself_is_its_own_rival() -> None:
    winner = searched(0.5) | {"best": {"formula": "v = r"}}

    [row] = writer.read_rows([winner], [])
    [joined] = writer.read_rows([winner | {"joined": 3}], [])

    assert (row.found, row.show("known")) == ("RSN", ".500")
    assert (joined.found, joined.show("known")) == ("RSN", "–")


def test_the_last_rows_count_where_searches_are_above_and_under() -> None:
    scores = {"a": (0.5, 0.4), "b": (0.5, 0.502), "c": (0.5, 0.51), "d": (0.5, 0.5001)}
    lines = [
        each | {"graph": graph}
        for graph, (ours, theirs) in scores.items()
        for each in (searched(ours), line("random", theirs))
    ]

    table = writer.searches_table(writer.read_rows(lines, [])).splitlines()

    counts = [[cell.strip() for cell in text.split("|")][8] for text in table[-3:]]
    assert counts == ["1 of 4", "1 of 4", "+2.2"]


def test_pairs_stand_beside_graphs_and_are_measured_by_hits() -> None:
    pair = searched(0.5, hits=0.25) | {"graph": "EN-DE"}
    graphs = [searched(0.5) | {"graph": name} for name in ("a", "b")]

    table = writer.summary_table(writer.read_rows([pair, *graphs], []), []).splitlines()

    assert table[2:] == [
        "| a | – | .500 | 60 | – | EN-DE | – | 25.0 | 60 |",
        "| b | – | .500 | 60 | – |  |  |  |  |",
    ]


def test_propagations_are_means_of_seeds_and_pruned_ones_are_none() -> None:
    trained = [propagated(0.5), propagated(0.7), propagated(0.1, nodes=100)]

    table = writer.summary_table(writer.read_rows([searched(0.5)], []), trained).splitlines()

    assert table[2] == "| umls | – | .500 | 60 | .600 |  |  |  |  |"


def test_what_stands_around_a_table_is_left_alone() -> None:
    begin, end = "<!-- table one: written by docs/tables.py -->", "<!-- end of table -->"

    page = writer.fill(f"a\n{begin}\nold\n{end}\nb\n", {"one": "| new |"})

    assert page == f"a\n{begin}\n| new |\n{end}\nb\n"


def propagated(mrr: float, **settings: int) -> dict[str, Any]:
    """Return a line of `benchmarks/propagations.py`."""
    return {"graph": "umls", "set": settings, "metrics": {"test": {"mrr": mrr}}}


def line(
    way: str, mrr: float, *, seed: int = 0, seconds: float = 60, valid: float = 0.5
) -> dict[str, Any]:
    """Return a line of `benchmarks/searches.py`."""
    return {
        "graph": "umls",
        "way": way,
        "seed": seed,
        "asked_seconds": seconds,
        "metrics": {"valid": {"mrr": valid}, "test": {"mrr": mrr, "hits@1": mrr}},
    }


def searched(
    mrr: float, *, seed: int = 0, hits: float = 0.0, known: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the line of a search that found what is not known."""
    searched = line("search", mrr, seed=seed)
    searched["metrics"]["test"]["hits@1"] = hits
    return searched | {
        "gain": {"over": {"name": "RSN", "formula": "v = r"}},
        "best": {"formula": "v = s"},
        "settings": {},
        "joined": 1,
        "known": known or {"test": None},
    }


def checked(*, valid: float, test: float, **changes: Any) -> dict[str, Any]:
    """Return a line of `benchmarks/defaults.py check`, by the rule where nothing is changed."""
    settings = {"dim": 512, "batch_size": 512, "learning_rate": 0.1, "weight_decay": 0.0}
    settings |= {"n3": 0.015, "label_smoothing": 0.0, "dropout": 0.3, "lr_decay": 1.0}
    return {
        "graph": "umls",
        "facts": FACTS,
        "architecture": "ComplEx",
        "settings": {**settings, "max_epochs": 81, **changes},
        "best": {"mrr": valid},
        "test": {"mrr": test},
    }
