"""The loop of a search: nothing twice, nothing lost, and no end but the budget's."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from interstellar.architecture.notation import code_text
from interstellar.architecture.search_space import SearchSpace, Subspace
from interstellar.engine.engine import Done, OnProgress, Plain, ThisProcess, ignore
from interstellar.errors import DataError
from interstellar.records.journal import Journal, read_events
from interstellar.runs.search_plan import Budget
from interstellar.searching.bayes import BayesSearch
from interstellar.searching.finalists import find_winner, list_finalists
from interstellar.searching.hybrid import HybridSearch
from interstellar.searching.random_search import RandomSearch
from interstellar.searching.reinforce import ReinforceSearch
from interstellar.searching.rungs import has_reached
from interstellar.searching.search_journal import chosen_finalists, list_trials
from interstellar.searching.search_loop import LEAST_GRACE, MAX_REPEATS, MOST_GRACE, SearchLoop
from interstellar.searching.strategy import FirstRung, SearchStrategy
from interstellar.searching.supernet_search import DartsSearch, OneShotSearch
from interstellar.searching.surrogate import SurrogateSearch
from interstellar.searching.trial import Proposal, Stop, TrialResult
from interstellar.searching.trials import Trials, known_trials
from tests.searching.fake_workbench import (
    ALSO_TRANS_E,
    COMPL_EX,
    N_EPOCHS,
    P_TRANS_E,
    RUNGS,
    TRANS_E,
    WHOLE,
    FakeWorkbench,
    Listed,
    draw,
    events_of,
    lasting,
    open_loop,
    run_loop,
    score_network,
    trained,
)

SPACE = SearchSpace(Subspace.P1)  # small enough that networks come again
STRATEGIES: dict[str, Callable[[], SearchStrategy]] = {
    "surrogate": lambda: SurrogateSearch(SPACE, 1),
    "hybrid": lambda: FirstRung(HybridSearch(SPACE, 1)),
    "random": lambda: FirstRung(RandomSearch(SPACE, 1)),
    "reinforce": lambda: FirstRung(ReinforceSearch(SPACE, 1)),
    "bayes": lambda: FirstRung(BayesSearch(SPACE, 1)),
    "darts": lambda: FirstRung(DartsSearch(SPACE, 1)),
    "one-shot": lambda: FirstRung(OneShotSearch(SPACE, 1)),
}
N_TRIALS = 10  # so many that one is promoted twice


@pytest.fixture
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where hundreds of searches are run, none of which outlives this process."""
    monkeypatch.setattr("os.fsync", lambda _: None)


def test_a_proposal_is_in_the_journal_before_its_work_begins(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    seen: list[list[object]] = []
    workbench = FakeWorkbench()

    def look(work: Plain, _: OnProgress) -> Plain:
        seen.append([event["event"] for event in read_events(path)])
        return workbench(work)

    run_loop(path, Listed([TRANS_E, COMPL_EX]), look)

    assert seen == [["proposed"], ["proposed", "ended", "proposed"]]


@pytest.mark.parametrize("n_workers", [1, 4])
@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.usefixtures("_quick_disk")
def test_a_search_cut_anywhere_and_resumed_ends_as_if_it_had_not_been(
    tmp_path: Path, name: str, n_workers: int
) -> None:
    """With rungs and finalists: the same rungs are ended, and the same network wins."""

    def search(path: Path) -> SearchLoop:
        return run_loop(
            path,
            STRATEGIES[name](),
            FakeWorkbench(SPACE, n_failing=10),
            Budget(trials=N_TRIALS),
            n_workers=n_workers,
            rungs=RUNGS,
            n_finalists=3,
        )

    whole = search(tmp_path / "whole")
    lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)

    for n_lines, line in enumerate(lines):
        cuts = (0, len(line) // 2)
        for n_bytes in cuts if name == "random" else (cuts[n_lines % 2],):
            path = tmp_path / f"cut-{n_lines}-{n_bytes}"
            path.write_bytes(b"".join(lines[:n_lines]) + line[:n_bytes])
            resumed = search(path)
            assert lasting(path) == lasting(tmp_path / "whole")
            assert find_winner(resumed.trials) == find_winner(whole.trials)
            assert (resumed.n_shared, resumed.failures) == (whole.n_shared, whole.failures)


@pytest.mark.usefixtures("_quick_disk")
def test_a_search_killed_again_and_again_makes_headway(tmp_path: Path) -> None:
    """Each life of the search is killed at its third piece of work."""

    class KilledError(Exception):
        pass

    def search(path: Path, most: int) -> None:
        workbench = FakeWorkbench(SPACE)

        def work_until_killed(work: Plain, _: OnProgress) -> Plain:
            if len(workbench.done) == most:
                raise KilledError
            return workbench(work)

        run_loop(
            path,
            STRATEGIES["hybrid"](),
            work_until_killed,
            Budget(trials=N_TRIALS),
            rungs=RUNGS,
            n_finalists=2,
        )

    search(tmp_path / "whole", 1000)
    n_lives = 0
    while n_lives < 100:
        n_lives += 1
        try:
            search(tmp_path / "killed", 2)
        except KilledError:
            continue
        break

    assert 5 < n_lives < 100
    assert lasting(tmp_path / "killed") == lasting(tmp_path / "whole")


def test_a_network_that_was_trained_before_costs_nothing_and_says_so(tmp_path: Path) -> None:
    workbench, strategy = FakeWorkbench(), Listed([TRANS_E, COMPL_EX, ALSO_TRANS_E])

    loop = run_loop(tmp_path / "journal", strategy, workbench)

    assert workbench.done == [0, 1]
    assert [trial.result.reused for trial in loop.trials.ended] == [None, None, "proposal 0"]
    assert strategy.told[2].score == strategy.told[0].score
    assert len(loop.trials.trained) == 2


def test_a_network_under_way_is_not_begun_again(tmp_path: Path) -> None:
    workbench, strategy = FakeWorkbench(), Listed([TRANS_E, ALSO_TRANS_E, TRANS_E, COMPL_EX])

    loop = run_loop(tmp_path / "journal", strategy, workbench, n_workers=4)

    reused = {trial.number: trial.result.reused for trial in loop.trials.ended}
    assert sorted(workbench.done) == [0, 3]
    assert reused == {0: None, 1: "proposal 0", 2: "proposal 0", 3: None}
    assert strategy.told[0].score == strategy.told[1].score == strategy.told[2].score


def test_a_network_known_from_another_search_costs_nothing_and_says_so(tmp_path: Path) -> None:
    before = run_loop(tmp_path / "before", Listed([TRANS_E]), FakeWorkbench())
    known = known_trials(before.trials.ended, source="before")
    workbench, strategy = FakeWorkbench(), Listed([COMPL_EX, ALSO_TRANS_E, TRANS_E])

    loop = run_loop(tmp_path / "journal", strategy, workbench, known=known)

    assert workbench.done == [0]
    assert [trial.result.reused for trial in loop.trials.ended] == [
        None,
        *2 * ["proposal 0 of before"],
    ]
    assert loop.trials.ended[1].score == before.trials.ended[0].score


def test_known_networks_are_no_part_of_the_budget(tmp_path: Path) -> None:
    workbench = FakeWorkbench()

    loop = run_loop(
        tmp_path / "journal", Listed([TRANS_E, ALSO_TRANS_E, *draw(5)]), workbench, Budget(trials=3)
    )

    assert len(workbench.done) == len(loop.trials.trained) == 3
    assert len(loop.trials.ended) == 4


@pytest.mark.parametrize("n_workers", [1, 4])
def test_a_budget_of_trials_is_kept_to_the_trial(tmp_path: Path, n_workers: int) -> None:
    loop = run_loop(
        tmp_path / "journal",
        Listed(draw(20)),
        FakeWorkbench(),
        Budget(trials=10),
        n_workers=n_workers,
    )

    assert len(loop.trials.trained) == 10


def test_a_raised_budget_goes_on_where_the_search_ended(tmp_path: Path) -> None:
    architectures = draw(8)
    workbench = FakeWorkbench()
    for n_trials in (3, 8):
        run_loop(tmp_path / "raised", Listed(architectures), workbench, Budget(trials=n_trials))
    run_loop(tmp_path / "whole", Listed(architectures), FakeWorkbench(), Budget(trials=8))

    assert workbench.done == list(range(8))
    assert lasting(tmp_path / "raised") == lasting(tmp_path / "whole")


def test_a_search_in_which_everything_is_known_ends(tmp_path: Path) -> None:
    strategy = Listed([TRANS_E, ALSO_TRANS_E, COMPL_EX], is_endless=True)

    loop = run_loop(tmp_path / "journal", strategy, FakeWorkbench(), Budget(trials=5))

    assert len(loop.trials.trained) == 2
    assert len(loop.trials.ended) == 3 + MAX_REPEATS


def test_a_strategy_with_nothing_left_ends_the_search(tmp_path: Path) -> None:
    loop = run_loop(tmp_path / "journal", Listed([TRANS_E]), FakeWorkbench(), Budget(trials=5))

    assert len(loop.trials.ended) == 1
    assert loop.under_way == {}


@pytest.mark.parametrize("name", ["darts", "one-shot"])
def test_a_strategy_that_waits_for_its_supernet_is_asked_again(tmp_path: Path, name: str) -> None:
    loop = run_loop(tmp_path / "journal", STRATEGIES[name](), FakeWorkbench(SPACE), n_workers=4)

    assert (loop.n_shared, len(loop.trials.trained)) == (1, 1)


def test_a_failed_trial_is_told_without_a_score_and_the_search_goes_on(tmp_path: Path) -> None:
    worse, better = sorted([TRANS_E, COMPL_EX], key=score_network)
    strategy = Listed([worse, better, worse])
    workbench = FakeWorkbench(n_failing=round(100 * score_network(worse)) + 1)

    loop = run_loop(tmp_path / "journal", strategy, workbench)

    assert workbench.done == [0, 1]
    assert [strategy.told[i].score is None for i in range(3)] == [True, False, True]
    assert loop.failures == 2 * ["the loss was not a finite number"]
    assert loop.trials.best == loop.trials.ended[1]


class GivingUp:
    """An engine that does everything at once, but gives up one piece."""

    def __init__(self, number: int) -> None:
        self.n_free = 1
        self._given_up = number
        self._done: list[Done] = []
        self._workbench = FakeWorkbench()

    def start(self, number: int, work: Plain) -> None:
        if number == self._given_up:
            self._done.append(Done(number, None, "its worker died 3 times (exit code -9)"))
        else:
            self._done.append(Done(number, self._workbench(work)))
        self.n_free = 0

    def wait(self, deadline: float | None = None, on_progress: OnProgress = ignore) -> list[Done]:
        done, self._done, self.n_free = self._done, [], 1
        return done

    def close(self) -> None:
        pass


@pytest.mark.parametrize("number", [1, 2], ids=["trial", "shared round"])
def test_what_was_given_up_ends_with_the_reason_and_the_search_goes_on(
    tmp_path: Path, number: int
) -> None:
    with Journal.open(tmp_path / "journal") as journal:
        loop = open_loop(journal, HybridSearch(SearchSpace(), 1), Budget(trials=5))
        loop.run(GivingUp(number))

    ended = {event["number"]: event for event in events_of(tmp_path / "journal", "ended")}
    assert ended[number]["failure"] == "its worker died 3 times (exit code -9)"
    assert len(loop.trials.trained) == 5
    assert loop.n_shared == (2 if number == 1 else 1)


class Hung:
    """An engine whose worker never answers."""

    n_free = 1

    def start(self, number: int, work: Plain) -> None:
        self._number = number
        self.n_free = 0

    def wait(self, deadline: float | None = None, on_progress: OnProgress = ignore) -> list[Done]:
        assert deadline is not None
        assert 0 < deadline - time.monotonic() < 200
        time.sleep(0.2)
        self.n_free = 1
        return [Done(self._number, None, "its time was up", is_late=True)]

    def close(self) -> None:
        pass


def test_a_trial_whose_worker_hung_until_the_deadline_is_left_to_who_resumes(
    tmp_path: Path,
) -> None:
    with Journal.open(tmp_path / "journal") as journal:
        loop = open_loop(journal, HybridSearch(SearchSpace(), 1), Budget(time=0.1))
        loop.run(Hung())

    assert len(events_of(tmp_path / "journal", "unfinished")) == 1
    assert loop.under_way == {}
    assert len(loop.trials.trained) == 0


class LastInFirstOut:
    """An engine with three workers, of which the one begun last is ready first."""

    def __init__(self) -> None:
        self._workbench = FakeWorkbench(SPACE)
        self._started: list[tuple[int, Plain]] = []
        self.most_at_once = 0

    @property
    def n_free(self) -> int:
        return 3 - len(self._started)

    def start(self, number: int, work: Plain) -> None:
        self._started.append((number, work))
        self.most_at_once = max(self.most_at_once, len(self._started))

    def wait(self, deadline: float | None = None, on_progress: OnProgress = ignore) -> list[Done]:
        number, work = self._started.pop()
        return [Done(number, self._workbench(work))]

    def close(self) -> None:
        self._started = []


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.usefixtures("_quick_disk")
def test_with_several_workers_a_cut_search_resumes_with_what_was_under_way(
    tmp_path: Path, name: str
) -> None:
    def search(path: Path) -> LastInFirstOut:
        engine = LastInFirstOut()
        with Journal.open(path) as journal:
            loop = open_loop(journal, STRATEGIES[name](), Budget(trials=N_TRIALS), rungs=RUNGS)
            loop.run(engine)
        assert loop.under_way == {}
        return engine

    whole = search(tmp_path / "whole")
    lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)

    assert whole.most_at_once == (3 if name not in ("darts", "one-shot") else 1)
    for n_lines in range(1, len(lines), 3):
        path = tmp_path / f"cut-{n_lines}"
        path.write_bytes(b"".join(lines[:n_lines]))
        search(path)
        numbers = [str(event["number"]) for event in events_of(path, "proposed")]
        promoted = [str(event["number"]) for event in events_of(path, "promoted")]
        ended = [str(event["number"]) for event in events_of(path, "ended")]
        trained = Trials(list_trials(read_events(path), path)).trained
        assert numbers == [str(number) for number in range(len(numbers))]
        assert sorted(ended) == sorted(numbers + promoted)
        assert len(trained) == (N_TRIALS if name not in ("darts", "one-shot") else 1)


def test_the_best_go_on_from_rung_to_rung_and_the_best_of_all_to_its_end(tmp_path: Path) -> None:
    path, architectures = tmp_path / "journal", draw(27)

    loop = run_loop(path, Listed(architectures), FakeWorkbench(), rungs=RUNGS)

    first = {str(event["epochs"]) for event in events_of(path, "proposed")}
    further = [event.get("epochs") for event in events_of(path, "promoted")]
    n_reached = [sum(has_reached(t, rung) for t in loop.trials.ended) for rung in RUNGS.epochs]
    best = loop.trials.best
    assert first == {"1"}
    assert set(further) == {3, None}
    assert n_reached[0] == 27
    assert 9 <= n_reached[1] <= 18
    assert 3 <= n_reached[2] <= 9
    assert best is not None
    assert best.result.is_complete
    assert best.architecture == max(architectures, key=score_network)


def test_no_trial_is_stopped_where_none_is_to_be_pruned(tmp_path: Path) -> None:
    path = tmp_path / "journal"

    loop = run_loop(path, Listed(draw(20)), FakeWorkbench(), rungs=WHOLE)

    assert all("epochs" not in event for event in events_of(path, "proposed"))
    assert events_of(path, "promoted") == []
    assert all(trial.result.is_complete for trial in loop.trials.ended)


def test_a_single_trial_is_trained_to_its_end_by_rungs(tmp_path: Path) -> None:
    strategy = Listed([TRANS_E])

    loop = run_loop(tmp_path / "journal", strategy, FakeWorkbench(), rungs=RUNGS)

    assert strategy.heard == [(0, 1), (0, 3), (0, N_EPOCHS)]
    assert [trial.result.is_complete for trial in loop.trials.ended] == [True]


def test_a_promotion_costs_no_trial_of_the_budget(tmp_path: Path) -> None:
    loop = run_loop(
        tmp_path / "journal", Listed(draw(40)), FakeWorkbench(), Budget(trials=9), rungs=RUNGS
    )

    assert len(loop.trials.trained) == 9
    assert any(trial.result.is_complete for trial in loop.trials.trained)


def test_a_network_that_waits_at_a_rung_costs_nothing_under_another_name(tmp_path: Path) -> None:
    workbench = FakeWorkbench()

    loop = run_loop(
        tmp_path / "journal",
        Listed([TRANS_E, ALSO_TRANS_E, COMPL_EX, P_TRANS_E]),
        workbench,
        rungs=RUNGS,
    )

    assert 1 not in workbench.done
    assert loop.trials[1].result.reused == "proposal 0"
    assert len(loop.trials.trained) == 3


def test_a_promoted_trial_that_fails_does_not_end_the_search(tmp_path: Path) -> None:
    workbench, architectures = FakeWorkbench(), draw(3)

    def fail_later(work: Plain, _: OnProgress) -> Plain:
        if work.get("epochs") != RUNGS.first:
            return TrialResult(failure="no room").as_plain()
        return workbench(work)

    loop = run_loop(tmp_path / "journal", Listed(architectures), fail_later, rungs=RUNGS)

    best = loop.trials.best
    assert loop.failures == 3 * ["no room"]
    assert best is None


def test_finalists_are_trained_to_their_end_and_repeated_with_other_seeds(tmp_path: Path) -> None:
    path, strategy, workbench = tmp_path / "journal", Listed(draw(12)), FakeWorkbench()

    loop = run_loop(path, strategy, workbench, rungs=RUNGS, n_finalists=3)

    finalists = list_finalists(loop.trials)
    assert {finalist.trial.number for finalist in finalists} == {
        trial.number for trial in loop.trials.ranked[:3]
    }
    for finalist in finalists:
        assert list(finalist.runs) == [None, 1, 2]
        assert all(run.result.is_complete for run in finalist.runs.values())
    assert [number for number in workbench.done if number < 0] == [-1, -2, -3, -4, -5, -6]
    assert min(strategy.told) == 0
    assert len(loop.trials.ended) == 12


def test_the_finalists_of_a_killed_search_are_those_chosen_before(tmp_path: Path) -> None:
    """A known model that is trained to its end beside the best two overtakes one of them."""
    whole, architectures = tmp_path / "whole", [COMPL_EX, *draw(5)]

    def slow_at_first(work: Plain, _: OnProgress) -> Plain:
        proposal = Proposal.from_plain(work)
        assert proposal.architecture is not None
        score = score_network(proposal.point, proposal.seed)
        if proposal.architecture == COMPL_EX:
            score = 0.01 if proposal.epochs else 1.0
        stopped = Stop.RUNG if proposal.epochs else None
        return trained(score, proposal.epochs or N_EPOCHS, stopped).as_plain()

    def search(path: Path) -> SearchLoop:
        return run_loop(
            path,
            Listed(architectures),
            slow_at_first,
            rungs=RUNGS,
            n_finalists=2,
        )

    found = search(whole)
    lines = whole.read_bytes().splitlines(keepends=True)

    assert len(list_finalists(found.trials)) == 3
    assert found.trials.best is not None
    assert found.trials.best.architecture == COMPL_EX
    for n_lines in range(len(lines) - 20, len(lines)):
        path = tmp_path / f"cut-{n_lines}"
        path.write_bytes(b"".join(lines[:n_lines]))
        resumed = search(path)
        assert lasting(path) == lasting(whole)
        assert find_winner(resumed.trials) == find_winner(found.trials)


def test_a_finished_search_with_finalists_can_be_given_more_trials(tmp_path: Path) -> None:
    path, architectures = tmp_path / "journal", draw(12)
    for n_trials in (4, 12):
        with Journal.open(path) as journal:
            journal.append("budget", trials=n_trials, seconds=None)
        budget = Budget(trials=n_trials)
        loop = run_loop(path, Listed(architectures), FakeWorkbench(), budget, n_finalists=2)

    winner = find_winner(loop.trials)
    assert len(loop.trials.trained) == 12
    assert winner is not None
    assert {winner.architecture} <= set(sorted(architectures, key=score_network)[-2:])


def test_finalists_are_not_begun_where_there_is_no_time_for_their_end(tmp_path: Path) -> None:
    def work(done: FakeWorkbench, seconds: float) -> Callable[[Plain, OnProgress], Plain]:
        return lambda work, _: done(work) | {"seconds": seconds}

    slow, quick = FakeWorkbench(), FakeWorkbench()
    for name, workbench, seconds in (("slow", slow, 1000.0), ("quick", quick, 0.0)):
        run_loop(
            tmp_path / name,
            Listed(draw(3)),
            work(workbench, seconds),
            Budget(time=100),
            n_finalists=2,
        )

    assert min(slow.done) == 0
    assert min(quick.done) == -4


@pytest.mark.parametrize(("epoch_seconds", "n_epochs"), [(0.1, 9), (15.0, 3), (40.0, 1)])
def test_finalists_are_repeated_to_the_highest_rung_that_there_is_time_for(
    tmp_path: Path, epoch_seconds: float, n_epochs: int
) -> None:
    workbench = FakeWorkbench()

    def work(work: Plain, _: OnProgress) -> Plain:
        outcome = workbench(work)
        return outcome | {"seconds": epoch_seconds * outcome["epochs"]}

    loop = run_loop(
        tmp_path / "journal",
        Listed(draw(2)),
        work,
        Budget(time=100),
        rungs=RUNGS,
        n_finalists=2,
    )

    assert {trial.result.epochs for trial in loop.trials.repeats} == {n_epochs}


def test_the_best_is_repeated_before_others_are_promoted(tmp_path: Path) -> None:
    path = tmp_path / "journal"

    loop = run_loop(path, Listed(draw(12)), FakeWorkbench(), rungs=RUNGS, n_finalists=3)

    events = list(read_events(path))
    [chosen] = [i for i, event in enumerate(events) if event["event"] == "finalists"]
    finalists, _ = chosen_finalists(events, path, loop.trials) or ([], 0)
    promoted = [event["number"] for event in events[chosen:] if event["event"] == "promoted"]
    assert events[chosen + 1]["number"] == -1
    assert loop.trials[-1].network == loop.trials[finalists[0]].network
    assert promoted
    assert set(promoted) <= set(finalists[1:])


def test_a_finalist_that_ran_out_of_time_before_goes_on_to_the_rung_of_the_others(
    tmp_path: Path,
) -> None:
    """The search was killed when it had chosen, and had several workers."""
    path, architectures = tmp_path / "journal", draw(2)
    workbench = FakeWorkbench()

    def run_out(work: Plain, _: OnProgress) -> Plain:
        if work.get("epochs") == 3:
            return trained(0.9, 2, Stop.TIME).as_plain()
        return workbench(work)

    run_loop(path, Listed(architectures), run_out, rungs=RUNGS, n_finalists=2)
    lines = path.read_bytes().splitlines(keepends=True)
    [chosen] = [i for i, line in enumerate(lines) if b'"finalists"' in line]
    path.write_bytes(b"".join(lines[: chosen + 1]))
    loop = run_loop(path, Listed(architectures), workbench, rungs=RUNGS, n_workers=4, n_finalists=2)

    assert [trial.result.is_complete for trial in loop.trials.ended] == [True, True]
    assert len(list_finalists(loop.trials)) == 2


def test_a_network_known_from_another_search_can_be_a_finalist(tmp_path: Path) -> None:
    better, worse = sorted([TRANS_E, COMPL_EX], key=score_network, reverse=True)
    before = run_loop(tmp_path / "before", Listed([better]), FakeWorkbench())
    known = known_trials(before.trials.ended, source="before")

    loop = run_loop(
        tmp_path / "journal",
        Listed([worse, better]),
        FakeWorkbench(),
        Budget(time=100),
        known=known,
        n_finalists=2,
    )

    assert len(list_finalists(loop.trials)) == 2
    winner = find_winner(loop.trials)
    assert winner is not None
    assert winner.architecture == better


def test_a_trial_out_of_time_keeps_its_score_with_and_without_a_kill(tmp_path: Path) -> None:
    path, architectures = tmp_path / "journal", draw(3)
    workbench = FakeWorkbench(is_late=lambda number: number == 2, n_late_epochs=4)

    late = run_loop(path, Listed(architectures), workbench)
    with Journal.open(path) as journal:
        replayed = open_loop(journal, Listed(architectures), Budget(time=1e-9))
    [listed] = [trial for trial in list_trials(read_events(path), path) if trial.number == 2]
    resumed = run_loop(path, Listed(architectures), FakeWorkbench())

    result = late.trials[2].result
    assert (result.stopped, result.epochs) == (Stop.TIME, 4)
    assert result.score == trained(score_network(architectures[2]), 4).score
    assert replayed.trials[2].result == listed.result == result
    assert resumed.trials[2].result == trained(score_network(architectures[2]), N_EPOCHS)


def test_a_promoted_trial_out_of_time_goes_on_for_who_resumes(tmp_path: Path) -> None:
    path, whole = tmp_path / "journal", tmp_path / "whole"
    run_loop(whole, Listed([TRANS_E]), FakeWorkbench(), rungs=RUNGS)
    score = score_network(TRANS_E)

    def run_out(work: Plain, _: OnProgress) -> Plain:
        stopped = Stop.TIME if work.get("epochs") == 3 else Stop.RUNG
        return trained(score, 2 if stopped is Stop.TIME else 1, stopped).as_plain()

    late = run_loop(path, Listed([TRANS_E]), run_out, rungs=RUNGS)
    resumed = run_loop(path, Listed([TRANS_E]), FakeWorkbench(), rungs=RUNGS)

    assert late.trials[0].result == trained(score, 2, Stop.TIME)
    assert resumed.trials[0].result == trained(score, N_EPOCHS)
    assert lasting(path) == lasting(whole)


def test_a_trial_out_of_time_is_not_told_and_is_run_again_first(tmp_path: Path) -> None:
    path, architectures = tmp_path / "journal", draw(4)
    strategy, again, workbench = Listed(architectures[:1]), Listed(architectures), FakeWorkbench()

    late = run_loop(path, strategy, FakeWorkbench(is_late=lambda _: True), Budget(time=100))
    resumed = run_loop(path, again, workbench, Budget(trials=4))

    assert (strategy.told, late.trials.ended, late.under_way) == ({}, [], {})
    assert [event["number"] for event in events_of(path, "unfinished")] == [0]
    assert workbench.done == [0, 1, 2, 3]
    assert len(resumed.trials.trained) == len(again.told) == 4


def test_resumed_without_time_left_it_begins_nothing(tmp_path: Path) -> None:
    path, architectures, workbench = tmp_path / "journal", draw(4), FakeWorkbench()
    run_loop(path, Listed(architectures), FakeWorkbench(is_late=lambda _: True), Budget(time=100))

    run_loop(path, Listed(architectures), workbench, Budget(time=1e-9))

    assert workbench.done == []


def test_a_trial_that_waits_for_one_out_of_time_is_left_for_later_too(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    architectures = [TRANS_E, ALSO_TRANS_E, COMPL_EX]

    late = run_loop(
        path, Listed(architectures), FakeWorkbench(is_late=lambda n: n == 0), n_workers=3
    )
    resumed = run_loop(path, Listed(architectures), FakeWorkbench(), n_workers=3)

    assert [trial.number for trial in late.trials.ended] == [2]
    reused = {trial.number: trial.result.reused for trial in resumed.trials.ended}
    assert reused == {0: None, 1: "proposal 0", 2: None}
    assert len(resumed.trials.trained) == 2


def test_no_trial_is_begun_once_the_time_is_over(tmp_path: Path) -> None:
    loop = run_loop(tmp_path / "journal", Listed(draw(3)), FakeWorkbench(), Budget(time=1e-9))

    assert list(read_events(tmp_path / "journal")) == []
    assert loop.trials.ended == []


def test_each_trial_is_told_how_much_time_is_left(tmp_path: Path) -> None:
    left: list[float | None] = []
    workbench = FakeWorkbench()

    def note(work: Plain, _: OnProgress) -> Plain:
        left.append(work["seconds_left"])
        return workbench(work)

    run_loop(tmp_path / "timed", Listed(draw(2)), note, Budget(time=100))
    run_loop(tmp_path / "counted", Listed(draw(1)), note, Budget(trials=1))

    first, second, untimed = left
    assert first is not None
    assert second is not None
    assert 90 < second < first <= 100
    assert untimed is None


@pytest.mark.parametrize("kind", ["ended", "unfinished"])
def test_time_spent_before_a_kill_counts(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "journal"
    with Journal.open(path) as journal:
        journal.append("proposed", **Proposal(number=0, architecture=TRANS_E).as_plain())
        result = TrialResult(score=0.5).as_plain() if kind == "ended" else {}
        journal.append(kind, number=0, **result, elapsed=30.0)

    loop = run_loop(path, Listed([TRANS_E, COMPL_EX]), FakeWorkbench(), Budget(trials=1, time=60))

    assert 30 <= loop.seconds < 60


def test_a_journal_of_another_search_is_refused_with_both_proposals(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    run_loop(path, Listed([TRANS_E]), FakeWorkbench())

    with pytest.raises(DataError, match="now proposes") as refusal:
        run_loop(path, Listed([COMPL_EX]), FakeWorkbench())

    assert code_text(TRANS_E) in str(refusal.value)
    assert code_text(COMPL_EX) in str(refusal.value)


def test_a_journal_with_more_proposals_than_the_strategy_has_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    run_loop(path, Listed([TRANS_E, COMPL_EX]), FakeWorkbench())

    with pytest.raises(DataError, match=r"proposal 1 .* now proposes None"):
        run_loop(path, Listed([TRANS_E]), FakeWorkbench())


def test_a_journal_with_an_end_of_nothing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    run_loop(path, Listed([TRANS_E]), FakeWorkbench())
    with Journal.open(path) as journal:
        journal.append("ended", number=7, score=0.5, elapsed=1.0)

    with pytest.raises(DataError, match="proposal 7 ended, but it is not under way"):
        run_loop(path, Listed([TRANS_E]), FakeWorkbench())


def test_a_score_that_is_no_number_counts_as_none_with_and_without_a_kill(tmp_path: Path) -> None:
    def measure_nan(_work: Plain, _: OnProgress) -> Plain:
        return TrialResult(score=float("nan")).as_plain()

    strategy, again = Listed([TRANS_E]), Listed([TRANS_E])
    run_loop(tmp_path / "journal", strategy, measure_nan)
    run_loop(tmp_path / "journal", again, measure_nan)

    assert strategy.told == again.told
    assert strategy.told[0].score is None


def test_whoever_watches_is_told_of_every_begin_and_end(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    with Journal.open(tmp_path / "journal") as journal:
        loop = open_loop(
            journal,
            Listed([TRANS_E, ALSO_TRANS_E, P_TRANS_E]),
            on_change=lambda loop: seen.append((len(loop.under_way), len(loop.trials.ended))),
        )
        loop.run(GivingUp(-1))

    assert seen == [(1, 0), (0, 1), (0, 2), (1, 2), (0, 3)]


def test_whoever_watches_is_told_how_far_a_trial_is_while_it_runs(tmp_path: Path) -> None:
    seen: list[tuple[dict[int, tuple[float, int]], dict[int, list[float]]]] = []
    workbench = FakeWorkbench()

    def report(work: Plain, on_progress: OnProgress) -> Plain:
        on_progress(work["number"], 0.5, 20, 0.25)
        return workbench(work)

    with Journal.open(tmp_path / "journal") as journal:
        loop = open_loop(
            journal,
            Listed([TRANS_E]),
            on_change=lambda loop: seen.append(
                (dict(loop.epochs_by_number), dict(loop.curve_by_number))
            ),
        )
        loop.run(ThisProcess(report))

    assert seen == [({}, {}), ({0: (0.5, 20)}, {0: [0.25]}), ({}, {})]


@pytest.mark.parametrize(
    ("epoch_seconds", "grace"), [(0.01, LEAST_GRACE), (4.0, 20.0), (600.0, MOST_GRACE)]
)
def test_a_worker_is_waited_for_as_long_as_a_few_epochs_take(
    tmp_path: Path, epoch_seconds: float, grace: float
) -> None:
    def work(_work: Plain, _: OnProgress) -> Plain:
        return TrialResult(score=0.5, epochs=2, seconds=2 * epoch_seconds).as_plain()

    with Journal.open(tmp_path / "journal") as journal:
        loop = open_loop(journal, Listed([TRANS_E]))
        unknown = loop.grace_seconds
        loop.run(ThisProcess(work))

    assert unknown == MOST_GRACE
    assert loop.grace_seconds == grace
