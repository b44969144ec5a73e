"""What mattered in a search."""

import statistics
from pathlib import Path

import pytest

from interstellar.reporting.effects import (
    Effect,
    effects_of,
    find_effects,
    list_compared,
    sort_effects,
)
from interstellar.reporting.reading import read_runs
from interstellar.reporting.recorded_search import RecordedSearch
from tests.reporting.written_runs import SEARCHES, Trials, tuning, write_search


def read(folder: Path) -> RecordedSearch:
    [recorded] = read_runs(folder)
    assert isinstance(recorded, RecordedSearch)
    return recorded


def effects_in(folder: Path) -> list[Effect]:
    search = read(folder)
    return effects_of(search.run.experiment, search.trials.ended)


def test_an_effect_is_the_mean_of_the_trials_with_an_option_and_its_error() -> None:
    taken = [{"colour": "red"}, {"colour": "red"}, {"colour": "blue"}, {"colour": "red"}]

    red, blue = find_effects(taken, [0.5, 0.7, 0.1, 0.6])

    assert (red.option, red.n) == ("red", 3)
    assert red.mean == pytest.approx(0.6)
    assert red.error == pytest.approx(statistics.stdev([0.5, 0.7, 0.6]) / 3**0.5)
    assert (blue.option, blue.n, blue.mean, blue.error) == ("blue", 1, 0.1, None)


def test_alone_takes_apart_what_was_tried_together() -> None:
    taken = [{"a": a, "b": b} for a, b in ("xx", "xx", "xx", "xy", "yx", "yy")] * 50
    scores = [0.4 if options["a"] == "x" else 0.2 for options in taken]

    effect = {(e.choice, e.option): e for e in find_effects(taken, scores)}

    assert effect["a", "x"].mean - effect["a", "y"].mean == pytest.approx(0.2)
    assert effect["b", "x"].mean - effect["b", "y"].mean == pytest.approx(0.05)
    assert effect["a", "x"].alone - effect["a", "y"].alone == pytest.approx(0.2, abs=0.01)
    assert effect["b", "x"].alone - effect["b", "y"].alone == pytest.approx(0.0, abs=0.01)


def test_choices_that_all_made_alike_have_no_effect() -> None:
    assert find_effects([{"a": "x", "b": 1}, {"a": "x", "b": 1}], [0.1, 0.2]) == []
    assert find_effects([{"a": "x"}], [0.1]) == []
    assert find_effects([], []) == []


def test_numbers_of_which_there_are_many_become_ranges() -> None:
    effects = find_effects([{"rate": 0.01 * i} for i in range(9)], [0.1 * i for i in range(9)])

    assert sum(effect.n for effect in effects) == 9
    assert [effect.option for effect in effects] == ["0.05 to 0.08", "0.03 to 0.05", "0 to 0.03"]


def test_the_choice_that_matters_most_comes_first_and_its_best_option() -> None:
    def effect(choice: str, option: str, mean: float) -> Effect:
        return Effect(choice=choice, option=option, n=2, mean=mean, error=None, alone=mean)

    mixed = [effect("a", "x", 0.2), effect("b", "x", 0.1), effect("a", "y", 0.3)]
    mixed.append(effect("b", "y", 0.5))

    ordered = [(e.choice, e.option) for e in sort_effects(mixed)]
    assert ordered == [("b", "y"), ("b", "x"), ("a", "y"), ("a", "x")]


def test_of_a_search_the_options_of_cells_are_compared_at_the_first_rung() -> None:
    search = read(SEARCHES / "wn18rr_hybrid")
    compared = list(list_compared(search.run.experiment, search.trials.ended))

    effects = effects_of(search.run.experiment, search.trials.ended)

    trained = [t for t in search.trials.ended if t.result.reused is None]
    assert len(compared) == len(trained) == 100
    for effect in effects:
        scores = [score for taken, score in compared if taken.get(effect.choice) == effect.option]
        assert effect.n == len(scores)
        assert effect.mean == pytest.approx(statistics.mean(scores))
    assert {"relation_source", "output", "W_6"} <= {effect.choice for effect in effects}


def test_of_a_tuning_the_settings_count_and_not_the_cell(tmp_path: Path) -> None:
    trials: Trials = [
        {"score": 0.1 * i, "formula": "ComplEx", "changes": {"dropout": 0.1 * (i % 2)}}
        for i in range(4)
    ]
    write_search(tmp_path / "run", trials, experiment=tuning())

    effects = effects_in(tmp_path / "run")

    assert [(e.choice, e.option, e.n) for e in effects] == [
        ("dropout", "0.1", 2),
        ("dropout", "0", 2),
    ]
    assert effects[0].mean == pytest.approx(0.2)


def test_trials_that_were_known_or_failed_do_not_count(tmp_path: Path) -> None:
    trials: Trials = [
        {"score": 0.5},
        {"score": 0.1, "formula": "DistMult"},
        {"score": 0.9, "reused": "proposal 0"},
        {"failure": "no memory", "formula": "ComplEx"},
    ]

    effects = effects_in(write_search(tmp_path / "run", trials))

    assert {(e.option, e.n, e.mean) for e in effects if e.choice == "relation"} == {
        ("add", 1, 0.5),
        ("multiply", 1, 0.1),
    }
