"""When training stops, and which epoch was the best."""

from hypothesis import given
from hypothesis import strategies as st

from interstellar.training.early_stopping import EarlyStopping

scores = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@given(scores=scores)
def test_the_best_epoch_is_the_last_with_the_highest_score(scores: list[float]) -> None:
    stopping = EarlyStopping(patience=0)

    verdicts = [stopping.observe(epoch, score) for epoch, score in enumerate(scores, 1)]

    assert stopping.best_score == max(scores)
    assert stopping.best_epoch == len(scores) - scores[::-1].index(max(scores))
    assert verdicts == [score == max(scores[: i + 1]) for i, score in enumerate(scores)]


@given(scores=scores, patience=st.integers(1, 5))
def test_it_is_over_once_the_patience_for_a_gain_is_used_up(
    scores: list[float], patience: int
) -> None:
    stopping = EarlyStopping(patience)

    for epoch, score in enumerate(scores, 1):
        stopping.observe(epoch, score)

        first_of_best = 1 + scores.index(max(scores[:epoch]))
        assert stopping.is_over is (epoch - first_of_best >= patience)


@given(scores=scores)
def test_without_patience_it_is_never_over(scores: list[float]) -> None:
    stopping = EarlyStopping(patience=0)

    for epoch, score in enumerate(scores, 1):
        stopping.observe(epoch, score)

    assert not stopping.is_over
