"""A search's experiment file: what was asked for comes back, and nothing has a hidden default."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.architecture.number_code import code_text
from interstellar.architecture.subspaces import Subspace
from interstellar.errors import SettingsError
from interstellar.searching.search_experiment import (
    ANY,
    SearchExperiment,
    SearchPlan,
    SharedScore,
    StrategyName,
    parse_search,
    search_text,
)
from interstellar.searching.tuning import TUNED
from interstellar.training.experiment import Experiment, experiment_text
from interstellar.training.presets import COUNTRIES
from tests.training.settings_strategies import counts, experiments

plans = st.builds(
    SearchPlan,
    strategy=st.sampled_from(StrategyName),
    subspace=st.none() | st.sampled_from(Subspace),
    macro_updates=counts,
    micro_epochs=st.integers(0, 2**31),
    supernet_epochs=counts,
    is_faithful=st.booleans(),
    n_together=counts,
    with_dim=st.booleans(),
    shared_score=st.sampled_from(SharedScore),
    is_macro_only=st.booleans(),
)

SEARCH = SearchExperiment(
    experiment=Experiment(data="geography-S3", architecture=ANY, seed=1, settings=COUNTRIES),
    plan=SearchPlan(strategy=StrategyName.HYBRID),
)


@given(experiments(), plans)
def test_a_search_written_and_read_is_the_same(experiment: Experiment, plan: SearchPlan) -> None:
    search = SearchExperiment(experiment=experiment, plan=plan)

    assert parse_search(search_text(search)) == search


def test_the_experiment_of_a_training_is_told_from_that_of_a_search() -> None:
    with pytest.raises(SettingsError, match=r"run\.toml has no table \[search\]"):
        parse_search(experiment_text(SEARCH.experiment), "run.toml")


def test_a_search_from_before_there_were_known_architectures_is_read() -> None:
    text = search_text(SEARCH)
    assert 'try_first = "none"\n' in text

    assert parse_search(text.replace('try_first = "none"\n', "")) == SEARCH


@pytest.mark.parametrize(
    "line", ['keep = "none"\n', 'shared_score = "loss"\n', "is_macro_only = false\n"]
)
def test_a_search_from_before_there_was_a_choice_is_read(line: str) -> None:
    text = search_text(SEARCH)
    assert line in text

    assert parse_search(text.replace(line, "")) == SEARCH


def test_with_the_dimension_everything_else_can_be_kept() -> None:
    plan = SearchPlan(strategy=StrategyName.TUNE, with_dim=True, keep=" ".join(TUNED))

    assert len(plan.kept) == len(TUNED)


def test_only_a_tuning_keeps_settings() -> None:
    with pytest.raises(SettingsError, match="only a tuning changes settings"):
        SearchPlan(strategy=StrategyName.HYBRID, keep="l2")


def test_known_architectures_come_back_and_lie_in_the_space() -> None:
    code = "[0,0,2,0,0,0,0,0,0,0,0]"
    plan = SearchPlan(strategy=StrategyName.BAYES, try_first=f"{code} {code}")

    assert [code_text(architecture) for architecture in plan.known] == [code, code]
    with pytest.raises(SettingsError, match="not in the subspace P3"):
        replace(plan, subspace=Subspace.P3)
    with pytest.raises(SettingsError, match="a tuning has one architecture"):
        replace(plan, strategy=StrategyName.TUNE)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('strategy = "hybrid"\n', "", r"\[search\] strategy is missing"),
        ("n_together = 1\n", "", r"\[search\] n_together is missing"),
        ("n_together = 1", "n_together = 0", "n_together is 0"),
        ("n_together = 1", "n_togeter = 1", "Did you mean n_together"),
        ('"hybrid"', '"evolution"', "'evolution', but it must be one of hybrid, random"),
        ('subspace = "none"', 'subspace = "P9"', "'P9', but it must be one of P1"),
        ("is_faithful = false", "is_faithful = 0", "true or false"),
        ("seed = 1\n", "", "seed is missing"),
    ],
)
def test_a_file_with_a_fault_is_refused_with_the_key(before: str, after: str, words: str) -> None:
    text = search_text(SEARCH)
    assert before in text

    with pytest.raises(SettingsError, match=words):
        parse_search(text.replace(before, after, 1), "run.toml")


@pytest.mark.parametrize(
    ("field", "value"),
    [("macro_updates", 0), ("micro_epochs", -1), ("supernet_epochs", 0), ("n_together", 0)],
)
def test_a_plan_with_too_few_of_something_is_refused(field: str, value: int) -> None:
    with pytest.raises(SettingsError, match=f"{field} is {value}"):
        SearchPlan(strategy=StrategyName.HYBRID, **{field: value})  # type: ignore[arg-type]
