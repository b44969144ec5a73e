"""What every search strategy promises; a new one is added to the list and to nothing else."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from interstellar.architecture.search_space import SearchSpace, Subspace
from interstellar.runs.search_plan import STRATEGIES, SearchPlan, StrategyName
from interstellar.searching.bayes import BayesSearch
from interstellar.searching.hybrid import HybridSearch
from interstellar.searching.random_search import RandomSearch
from interstellar.searching.reinforce import ReinforceSearch
from interstellar.searching.search_run import build_strategy
from interstellar.searching.strategy import SearchStrategy
from interstellar.searching.supernet_search import DartsSearch, OneShotSearch
from interstellar.searching.surrogate import SurrogateSearch
from interstellar.searching.trial import Proposal
from tests.searching.fake_judge import FAILED, judge, score_by_hash, search
from tests.searching.small_searches import small_search

Builder = Callable[[SearchSpace, int], SearchStrategy]

SEEDED: dict[str, Builder] = {
    "hybrid": HybridSearch,
    "random": RandomSearch,
    "reinforce": ReinforceSearch,
    "bayes": BayesSearch,
    "surrogate": SurrogateSearch,
}
ALL: dict[str, Builder] = SEEDED | {
    "one-shot": lambda space, _: OneShotSearch(space, n_epochs=2),
    "darts": lambda space, _: DartsSearch(space, n_epochs=2),
}
N_ASKED = 30

every_strategy = pytest.mark.parametrize("build", ALL.values(), ids=ALL.keys())
SPACES = [SearchSpace(part, only) for only in (False, True) for part in (None, *Subspace)]
every_space = pytest.mark.parametrize("space", SPACES, ids=str)


@every_strategy
def test_the_same_seed_and_scores_give_the_same_proposals(build: Builder) -> None:
    space = SearchSpace()

    first, second = (search(space, build(space, 4), score_by_hash, N_ASKED) for _ in range(2))

    assert first == second


@every_strategy
def test_asked_and_told_again_as_before_it_is_where_it_was(build: Builder) -> None:
    space = SearchSpace()
    strategy, again = build(space, 4), build(space, 4)
    in_flight = ask_and_tell_out_of_turn(space, strategy)

    ask_and_tell_out_of_turn(space, again)

    assert again.answer() == strategy.answer()
    for proposal in in_flight:
        result = judge(space, proposal, score_by_hash)
        strategy.tell(proposal.number, result)
        again.tell(proposal.number, result)
    assert again.ask() == strategy.ask()


def ask_and_tell_out_of_turn(space: SearchSpace, strategy: SearchStrategy) -> list[Proposal]:
    """Keep up to four in flight and tell the youngest first; return what is still in flight."""
    in_flight: list[Proposal] = []
    for k in range(2 * N_ASKED):
        if k % 4 < 2 and (proposal := strategy.ask()) is not None:
            in_flight.append(proposal)
        elif len(in_flight) > 2:
            proposal = in_flight.pop()
            strategy.tell(proposal.number, judge(space, proposal, score_by_hash))
    return in_flight


@pytest.mark.parametrize("build", SEEDED.values(), ids=SEEDED.keys())
def test_different_seeds_give_different_proposals(build: Builder) -> None:
    space = SearchSpace()

    first, second = (search(space, build(space, seed), score_by_hash, 5) for seed in (0, 1))

    assert first != second


@every_strategy
@every_space
def test_proposals_and_answer_lie_in_the_space(build: Builder, space: SearchSpace) -> None:
    strategy = build(space, 0)

    proposals = search(space, strategy, score_by_hash, N_ASKED)

    sizes = [len(choice.options) for choice in space.choices()]
    for proposal in proposals:
        if proposal.architecture is not None:
            assert proposal.point in space
        elif (supernet := proposal.supernet) is not None and supernet.controller is not None:
            n_fixed = 0 if supernet.macro is None else 5
            assert [len(theta) for theta in supernet.controller.theta] == sizes[n_fixed:]
            assert supernet.macro is None or supernet.macro in set(space.macros())
    answer = strategy.answer()
    assert answer is None or answer in space


@every_strategy
def test_numbers_count_from_zero_in_the_order_of_asking(build: Builder) -> None:
    space = SearchSpace()

    proposals = search(space, build(space, 0), score_by_hash, N_ASKED)

    assert [proposal.number for proposal in proposals] == list(range(len(proposals)))


@every_strategy
def test_several_can_be_in_flight_and_be_told_in_any_order(build: Builder) -> None:
    space = SearchSpace()
    strategy = build(space, 0)

    for _ in range(4):
        together = [proposal for _ in range(7) if (proposal := strategy.ask()) is not None]
        for proposal in reversed(together):
            strategy.tell(proposal.number, judge(space, proposal, score_by_hash))

    answer = strategy.answer()
    assert answer is None or answer in space


@every_strategy
@every_space
def test_it_survives_that_everything_fails(build: Builder, space: SearchSpace) -> None:
    strategy = build(space, 0)

    for _ in range(N_ASKED):
        if (proposal := strategy.ask()) is not None:
            strategy.tell(proposal.number, FAILED)

    answer = strategy.answer()
    assert answer is None or answer in space


@every_strategy
def test_what_it_proposes_comes_back_from_the_journal_the_same(build: Builder) -> None:
    space = SearchSpace()

    for proposal in search(space, build(space, 0), score_by_hash, 8):
        assert Proposal.from_plain(json.loads(json.dumps(proposal.as_plain()))) == proposal


@every_strategy
def test_to_be_asked_in_vain_changes_nothing(build: Builder) -> None:
    """A journal keeps no asking that led to nothing, so it must not count after a kill."""
    space = SearchSpace(Subspace.P3, is_macro_only=True)
    strategy, again = build(space, 2), build(space, 2)
    in_flight: list[Proposal] = []

    for _ in range(60):
        while len(in_flight) < 3 and (proposal := strategy.ask()) is not None:
            in_flight.append(proposal)
            assert again.ask() == proposal
        if not in_flight:
            break
        ended = in_flight.pop(0)
        for one in (strategy, again):
            one.tell(ended.number, judge(space, ended, score_by_hash))

    assert again.answer() == strategy.answer()


@pytest.mark.parametrize("name", STRATEGIES)
def test_in_a_search_it_can_be_told_the_same_trial_at_each_of_its_rungs(name: StrategyName) -> None:
    plan = SearchPlan(strategy=name, from_scratch=True)
    strategy, again = (build_strategy(small_search(plan=plan)) for _ in range(2))
    proposals: list[Proposal] = []

    for k in range(N_ASKED):
        proposal = strategy.ask()
        assert again.ask() == proposal
        if proposal is None:
            break
        proposals.append(proposal)
        for told in (proposal, proposals[k // 3]):  # an earlier one has come to its next rung
            result = judge(plan.space, told, score_by_hash)
            for one in (strategy, again):
                one.tell(told.number, replace(result, epochs=1 if told is proposal else 3))

    answer = strategy.answer()
    assert answer == again.answer()
    assert answer is None or answer in plan.space


@every_strategy
def test_failures_among_successes_are_survived(build: Builder) -> None:
    space = SearchSpace()
    strategy = build(space, 0)

    for _ in range(N_ASKED):
        if (proposal := strategy.ask()) is not None:
            failed = proposal.number % 3 == 1
            result = FAILED if failed else judge(space, proposal, score_by_hash)
            strategy.tell(proposal.number, result)

    answer = strategy.answer()
    assert answer is None or answer in space


def test_strategies_are_there_without_torch_and_until_bayes_is_built_without_optuna() -> None:
    names = "bayes", "hybrid", "random_search", "reinforce", "supernet_search", "surrogate"
    modules = ", ".join(f"interstellar.searching.{name}" for name in names)
    code = f"import sys, {modules}; print({{'torch', 'optuna'}} & set(sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"
