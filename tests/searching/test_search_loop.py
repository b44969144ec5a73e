"""The loop of a search: nothing twice, nothing lost, and no end but the budget's."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from interstellar.architecture.notation import code_text
from interstellar.architecture.search_space import SearchSpace, Subspace
from interstellar.engine.engine import Done, OnProgress, Plain, ThisProcess, ignore
from interstellar.errors import DataError
from interstellar.records.journal import Journal, read_events
from interstellar.runs.search_plan import Budget
from interstellar.searching.bayes import BayesSearch
from interstellar.searching.hybrid import HybridSearch
from interstellar.searching.random_search import RandomSearch
from interstellar.searching.reinforce import ReinforceSearch
from interstellar.searching.search_journal import list_trials
from interstellar.searching.search_loop import LEAST_GRACE, MAX_REPEATS, MOST_GRACE, SearchLoop
from interstellar.searching.strategy import SearchStrategy
from interstellar.searching.supernet_search import DartsSearch, OneShotSearch
from interstellar.searching.trial import Proposal, Stop, TrialResult
from interstellar.searching.trials import FEWEST_COMPLETE, known_trials
from tests.searching.fake_workbench import (
    ALSO_TRANS_E,
    COMPL_EX,
    P_TRANS_E,
    TRANS_E,
    FakeWorkbench,
    Listed,
    draw,
    events_of,
    lasting,
    open_loop,
    run_loop,
    score_network,
)

SPACE = SearchSpace(Subspace.P1)  # small enough that networks come again
STRATEGIES: dict[str, Callable[[], SearchStrategy]] = {
    "hybrid": lambda: HybridSearch(SPACE, 1),
    "random": lambda: RandomSearch(SPACE, 1),
    "reinforce": lambda: ReinforceSearch(SPACE, 1),
    "bayes": lambda: BayesSearch(SPACE, 1),
    "darts": lambda: DartsSearch(SPACE, 1),
    "one-shot": lambda: OneShotSearch(SPACE, 1),
}
N_TRIALS = 10  # so many that the last ones have a bar


@pytest.fixture
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where hundreds of searches are run, none of which outlives this process."""
    monkeypatch.setattr("os.fsync", lambda _: None)


def test_a_proposal_is_in_the_journal_before_its_work_begins(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    seen: list[list[object]] = []
    workbench = FakeWorkbench()

    def look(works: Sequence[Plain], _: OnProgress) -> list[Plain]:
        seen.append([event["event"] for event in read_events(path)])
        return workbench(works)

    run_loop(path, Listed([TRANS_E, COMPL_EX]), look)

    assert seen == [["proposed"], ["proposed", "ended", "proposed"]]


@pytest.mark.parametrize("n_together", [1, 4])
@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.usefixtures("_quick_disk")
def test_a_search_cut_anywhere_and_resumed_ends_as_if_it_had_not_been(
    tmp_path: Path, name: str, n_together: int
) -> None:
    def search(path: Path) -> SearchLoop:
        workbench = FakeWorkbench(SPACE, n_failing=10)
        budget = Budget(trials=N_TRIALS)
        return run_loop(path, STRATEGIES[name](), workbench, budget, n_together=n_together)

    whole = search(tmp_path / "whole")
    lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)

    for n_lines, line in enumerate(lines):
        cuts = (0, len(line) // 2)
        for n_bytes in cuts if n_together == 1 else (cuts[n_lines % 2],):
            path = tmp_path / f"cut-{n_lines}-{n_bytes}"
            path.write_bytes(b"".join(lines[:n_lines]) + line[:n_bytes])
            resumed = search(path)
            assert lasting(path) == lasting(tmp_path / "whole")
            assert resumed.trials.best == whole.trials.best
            assert (resumed.n_shared, resumed.failures) == (whole.n_shared, whole.failures)


@pytest.mark.usefixtures("_quick_disk")
def test_a_search_killed_again_and_again_makes_headway(tmp_path: Path) -> None:
    """Each life of the search is killed at its third piece of work."""

    class KilledError(Exception):
        pass

    def search(path: Path, most: int) -> None:
        workbench = FakeWorkbench(SPACE)

        def work_until_killed(works: Sequence[Plain], _: OnProgress) -> list[Plain]:
            if len(workbench.done) == most:
                raise KilledError
            return workbench(works)

        run_loop(path, HybridSearch(SPACE, 1), work_until_killed, Budget(trials=N_TRIALS))

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

    loop = run_loop(tmp_path / "journal", strategy, workbench, n_together=4)

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


@pytest.mark.parametrize("n_together", [1, 4])
def test_a_budget_of_trials_is_kept_to_the_trial(tmp_path: Path, n_together: int) -> None:
    loop = run_loop(
        tmp_path / "journal",
        Listed(draw(20)),
        FakeWorkbench(),
        Budget(trials=10),
        n_together=n_together,
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
    loop = run_loop(tmp_path / "journal", STRATEGIES[name](), FakeWorkbench(SPACE), n_together=4)

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
            self._done.append(Done(number, self._workbench([work])[0]))
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
        return [Done(number, self._workbench([work])[0])]

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
            loop = open_loop(journal, STRATEGIES[name](), Budget(trials=N_TRIALS))
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
        ended = [str(event["number"]) for event in events_of(path, "ended")]
        trained = [
            trial for trial in list_trials(read_events(path), path) if not trial.result.reused
        ]
        assert numbers == [str(number) for number in range(len(numbers))]
        assert sorted(ended) == sorted(numbers)
        assert len(trained) == (N_TRIALS if name not in ("darts", "one-shot") else 1)


def test_trials_that_cannot_win_are_stopped_once_enough_are_complete(tmp_path: Path) -> None:
    loop = run_loop(tmp_path / "journal", Listed(draw(40)), FakeWorkbench())

    bars = [event["prune_below"] for event in events_of(tmp_path / "journal", "proposed")]
    stopped = [trial for trial in loop.trials.ended if trial.result.stopped is Stop.PRUNED]
    best = loop.trials.best
    assert bars[:FEWEST_COMPLETE] == [None] * FEWEST_COMPLETE
    assert bars[FEWEST_COMPLETE] is not None
    assert len(stopped) > 5
    assert best is not None
    assert best.result.stopped is None


def test_no_trial_is_stopped_where_none_is_to_be_pruned(tmp_path: Path) -> None:
    loop = run_loop(tmp_path / "journal", Listed(draw(20)), FakeWorkbench(), prune=False)

    bars = {str(event["prune_below"]) for event in events_of(tmp_path / "journal", "proposed")}
    assert bars == {"None"}
    assert all(trial.result.is_complete for trial in loop.trials.ended)


@pytest.mark.parametrize("prune", [True, False])
def test_pruning_does_not_change_the_best(tmp_path: Path, prune: bool) -> None:
    """The scores of this judge rise alike, so what is pruned could never win."""
    architectures = draw(60, seed=2)

    loop = run_loop(tmp_path / "journal", Listed(architectures), FakeWorkbench(), prune=prune)

    assert loop.trials.best is not None
    assert loop.trials.best.architecture == max(architectures, key=score_network)


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
        path, Listed(architectures), FakeWorkbench(is_late=lambda n: n == 0), n_together=3
    )
    resumed = run_loop(path, Listed(architectures), FakeWorkbench(), n_together=3)

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

    def note(works: Sequence[Plain], _: OnProgress) -> list[Plain]:
        left.extend(work["seconds_left"] for work in works)
        return workbench(works)

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
    def measure_nan(works: Sequence[Plain], _: OnProgress) -> list[Plain]:
        return [TrialResult(score=float("nan")).as_plain() for _ in works]

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
    seen: list[dict[int, tuple[int, int]]] = []
    workbench = FakeWorkbench()

    def report(works: Sequence[Plain], on_progress: OnProgress) -> list[Plain]:
        on_progress(works[0]["number"], 3, 20)
        return workbench(works)

    with Journal.open(tmp_path / "journal") as journal:
        loop = open_loop(
            journal,
            Listed([TRANS_E]),
            on_change=lambda loop: seen.append(dict(loop.epochs_by_number)),
        )
        loop.run(ThisProcess(report))

    assert seen == [{}, {0: (3, 20)}, {}]


@pytest.mark.parametrize(
    ("epoch_seconds", "grace"), [(0.01, LEAST_GRACE), (4.0, 20.0), (600.0, MOST_GRACE)]
)
def test_a_worker_is_waited_for_as_long_as_a_few_epochs_take(
    tmp_path: Path, epoch_seconds: float, grace: float
) -> None:
    def work(works: Sequence[Plain], _: OnProgress) -> list[Plain]:
        return [
            TrialResult(score=0.5, epochs=2, seconds=2 * epoch_seconds).as_plain() for _ in works
        ]

    with Journal.open(tmp_path / "journal") as journal:
        loop = open_loop(journal, Listed([TRANS_E]))
        unknown = loop.grace_seconds
        loop.run(ThisProcess(work))

    assert unknown == MOST_GRACE
    assert loop.grace_seconds == grace
