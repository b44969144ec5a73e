"""How a search goes about it: what was asked for comes back, and nothing means nothing."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.architecture.notation import read_architecture
from interstellar.architecture.search_space import Subspace
from interstellar.errors import SettingsError
from interstellar.runs.experiment import ANY, Experiment, experiment_text, parse_experiment
from interstellar.runs.search_plan import (
    FINALISTS,
    MEANT_FOR,
    SEARCHED,
    TUNED,
    Budget,
    Retraining,
    SearchPlan,
    SharedScore,
    StrategyName,
    read_time,
)
from interstellar.training.presets import COUNTRIES
from tests.training.settings_strategies import counts, experiments

TRANSE = "[0,0,12,0,0,0,0,0,0,0,0]"
SEARCH = Experiment(
    data="geography-S3", architecture=ANY, seed=1, settings=COUNTRIES, plan=SearchPlan()
)
V010 = """
[search]
strategy = "hybrid"
subspace = "none"
macro_updates = 2
micro_epochs = 3
supernet_epochs = 50
is_faithful = true
n_together = 4
with_dim = false
macro = "none"
try_first = "[0,0,12,0,0,0,0,0,0,0,0] [0,2,12,0,0,0,0,0,0,0,0]"
keep = "none"
shared_score = "mrr"
is_macro_only = false
"""
OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "architecture_only": st.booleans(),
    "macro_updates": st.none() | counts,
    "micro_epochs": st.none() | counts,
    "supernet_epochs": st.none() | counts,
    "shared_score": st.none() | st.sampled_from(SharedScore),
    "macro": st.none() | st.just("ComplEx"),
    "with_dim": st.booleans(),
    "keep": st.lists(st.sampled_from(TUNED[1:]), unique=True).map(tuple),
}


@st.composite
def plans(draw: st.DrawFn) -> SearchPlan:
    strategy = draw(st.sampled_from(StrategyName))
    own = {name: draw(option) for name, option in OPTIONS.items() if strategy in MEANT_FOR[name]}
    if strategy is not StrategyName.TUNE:
        own["try_first"] = draw(st.sampled_from([(), ("TransE",), ("literature", TRANSE)]))
        own["from_scratch"] = draw(st.booleans())
    return SearchPlan(strategy=strategy, prune=draw(st.booleans()), **own)


def read_old(text: str = V010) -> SearchPlan | None:
    whole = experiment_text(replace(SEARCH, plan=None)) + text
    return parse_experiment(whole).plan


@given(experiments(), plans())
def test_a_search_written_and_read_is_the_same(experiment: Experiment, plan: SearchPlan) -> None:
    search = replace(experiment, plan=plan)

    assert parse_experiment(experiment_text(search)) == search


def test_the_experiment_of_a_training_is_told_from_that_of_a_search() -> None:
    assert parse_experiment(experiment_text(replace(SEARCH, plan=None))).plan is None
    assert parse_experiment(experiment_text(SEARCH)).plan == SearchPlan()


def test_the_plan_of_version_0_1_is_read() -> None:
    assert read_old() == SearchPlan(
        strategy=StrategyName.HYBRID,
        from_scratch=True,
        macro_updates=2,
        micro_epochs=3,
        prune=False,
        try_first=("TransE", "ComplEx"),
        shared_score=SharedScore.MRR,
    )


@pytest.mark.parametrize("line", ["try_first", "keep", "shared_score", "is_macro_only"])
def test_the_plan_of_a_version_before_there_was_a_choice_is_read(line: str) -> None:
    text = V010.replace("mrr", "loss").replace(f"{TRANSE} [0,2,12,0,0,0,0,0,0,0,0]", "none")
    shorter = [said for said in text.splitlines(keepends=True) if not said.startswith(line)]

    assert len(shorter) == len(text.splitlines()) - 1
    assert read_old("".join(shorter)) == read_old(text)


def test_the_plan_of_a_tuning_of_version_0_1_keeps_what_it_kept() -> None:
    text = V010.replace('"hybrid"', '"tune"').replace('keep = "none"', 'keep = "l2 decay"')
    text = text.replace(f'"{TRANSE} [0,2,12,0,0,0,0,0,0,0,0]"', '"none"')

    plan = read_old(text)

    assert plan is not None
    assert plan.keep == ("weight_decay", "lr_decay")


@pytest.mark.parametrize("is_macro_only", [True, False])
def test_options_that_a_strategy_does_not_have_mean_nothing_in_version_0_1(
    is_macro_only: bool,
) -> None:
    text = V010.replace('"hybrid"', '"hybrid"' if is_macro_only else '"random"')
    plan = read_old(
        text.replace("is_macro_only = false", f"is_macro_only = {is_macro_only}".lower())
    )

    assert plan is not None
    assert (plan.shared_score, plan.micro_epochs, plan.supernet_epochs) == (None, None, None)
    assert plan.macro_updates == (2 if is_macro_only else None)


def test_what_is_left_out_is_resolved_for_the_strategies_that_have_it() -> None:
    hybrid, bayes = (SearchPlan(strategy=StrategyName(name)) for name in ("hybrid", "bayes"))

    assert (hybrid.macro_updates, hybrid.micro_epochs, hybrid.shared_score) == (1, 1, "loss")
    assert (bayes.macro_updates, bayes.micro_epochs, bayes.shared_score) == (None, None, None)


def test_with_the_dimension_everything_else_can_be_kept() -> None:
    plan = SearchPlan(strategy=StrategyName.TUNE, with_dim=True, keep=TUNED)

    assert plan.keep == TUNED
    with pytest.raises(SettingsError, match="nothing is left to tune"):
        replace(plan, with_dim=False)
    with pytest.raises(SettingsError, match="'seed' cannot be kept"):
        replace(plan, keep=("seed",))


def test_known_architectures_are_each_tried_once_and_lie_in_the_space() -> None:
    plan = SearchPlan(from_scratch=True, try_first=("TransE", TRANSE, "ComplEx"))

    assert plan.try_first == (TRANSE, "[0,2,12,0,0,0,0,0,0,0,0]")
    with pytest.raises(SettingsError, match="not in the subspace P3"):
        replace(plan, subspace=Subspace.P3)
    with pytest.raises(SettingsError, match="a tuning has one architecture"):
        replace(plan, strategy=StrategyName.TUNE)


def test_as_published_is_the_papers_search_whole() -> None:
    plan = SearchPlan(as_published=True)

    assert plan == SearchPlan(
        strategy=StrategyName.HYBRID, as_published=True, from_scratch=True, prune=False
    )
    assert (plan.known, plan.macro_updates, plan.micro_epochs) == ([], 1, 1)
    assert parse_experiment(experiment_text(replace(SEARCH, plan=plan))).plan == plan
    with pytest.raises(SettingsError, match="hybrid and begins with nothing"):
        SearchPlan(as_published=True, strategy=StrategyName.RANDOM)
    with pytest.raises(SettingsError, match="hybrid and begins with nothing"):
        SearchPlan(as_published=True, try_first=("TransE",))


def test_a_search_may_keep_every_setting_that_it_would_search() -> None:
    assert SearchPlan(keep=SEARCHED).keep == SEARCHED


def test_the_best_are_repeated_only_where_the_winner_is_trained() -> None:
    assert Retraining().n_finalists == 1
    assert Retraining(then_train=True).n_finalists == FINALISTS > 1
    assert Retraining(then_train=True, finalists=5).n_finalists == 5
    assert Retraining(then_train=True, finalists=1).n_finalists == 1


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            'macro_updates = "none"',
            "macro_updates = 1",
            r"run\.toml: \[search\] `macro_updates` was given, but it is for hybrid",
        ),
        ("prune = true", "prunes = true", "Did you mean prune"),
        ("prune = true", "prune = 0", "true or false"),
        ('"surrogate"', '"evolution"', "'evolution', but it must be one of surrogate, hybrid"),
        ('subspace = "none"', 'subspace = "P9"', "'P9', but it must be one of P1"),
        ("keep = []", 'keep = ["seed"]', "'seed' cannot be kept: what is chosen is learning_rate"),
        ("keep = []", 'keep = "dropout"', "must be texts in brackets"),
        ("seed = 1\n", "", "seed is missing"),
    ],
)
def test_a_file_with_a_fault_is_refused_with_the_key(before: str, after: str, words: str) -> None:
    text = experiment_text(SEARCH)
    assert before in text

    with pytest.raises(SettingsError, match=words):
        parse_experiment(text.replace(before, after, 1), "run.toml")


@pytest.mark.parametrize(
    ("field", "value"), [("macro_updates", 0), ("micro_epochs", -1), ("macro_updates", 1.5)]
)
def test_a_plan_with_too_few_of_something_is_refused(field: str, value: float) -> None:
    with pytest.raises(SettingsError, match=f"`{field}` is {value}"):
        SearchPlan(strategy=StrategyName.HYBRID, **{field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "meant"), [*MEANT_FOR.items()])
def test_an_option_is_refused_where_the_strategy_does_not_have_it(
    name: str, meant: tuple[StrategyName, ...]
) -> None:
    values: dict[str, Any] = {"shared_score": "mrr", "macro": "ComplEx", "with_dim": True}
    values["architecture_only"] = True
    value = {"keep": ("dropout",), **values}.get(name, 2)

    for strategy in set(StrategyName) - set(meant):
        with pytest.raises(SettingsError, match=f"`{name}` was given, but it is for "):
            SearchPlan(strategy=strategy, **{name: value})
    assert getattr(SearchPlan(strategy=meant[0], **{name: value}), name) is not None


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("20m", 1200), ("1h30m", 5400), (" 2D ", 172800)]
)
def test_a_time_is_read_in_its_units(text: str, seconds: float) -> None:
    assert read_time(text) == Budget(time=text).seconds == seconds


@pytest.mark.parametrize("text", ["", "20", "m", "1h 30m", "-5m", "5 minutes"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="not a time"):
        Budget(time=text)


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ({}, "needs an end"),
        ({"trials": 0}, "`trials` is 0"),
        ({"time": "0s"}, "`time` is '0s'"),
        ({"time": float("nan")}, "`time` is nan"),
        ({"time": float("inf")}, "`time` is inf"),
    ],
)
def test_a_budget_that_has_no_end_or_no_room_is_refused(budget: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        Budget(**budget)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"finalists": 0, "then_train": True}, "`finalists` is 0"),
        ({"finalists": 2}, "2 finalists were asked for"),
        ({"ensemble": True}, "without finalists the winner has one seed"),
        ({"ensemble": True, "then_train": True, "finalists": 1}, "the winner has one seed"),
    ],
)
def test_a_retraining_that_cannot_be_meant_is_refused(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        Retraining(**asked)


def test_what_is_tried_first_may_say_how_it_is_propagated() -> None:
    lines = (f"{TRANSE}; depth = 3; aggregation = max", TRANSE, "O_r = s + r; v = O_r; depth = 3")
    plan = SearchPlan(from_scratch=True, try_first=lines)

    assert plan.try_first == (
        f"{TRANSE}; aggregation = max; depth = 3",
        TRANSE,
        f"{TRANSE}; depth = 3",
    )
    assert plan.known == [read_architecture("TransE")] * 3
    assert plan.known_choices == [{"aggregation": "max", "depth": 3}, {}, {"depth": 3}]
    assert parse_experiment(experiment_text(replace(SEARCH, plan=plan))).plan == plan


def test_what_lies_in_the_space_is_told_from_what_does_not() -> None:
    lines = ("PTransE-mul; depth = 3", "TransE", "RSN")

    assert SearchPlan(subspace=Subspace.P1).in_space(lines) == ["TransE"]
    assert SearchPlan(macro_only=True).in_space(lines) == list(lines[:2])
    assert SearchPlan().in_space(lines) == list(lines)
