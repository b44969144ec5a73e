"""Names that look alike."""

from pathlib import Path

from interstellar.data.loading import load
from interstellar.data.lookalikes import find_lookalikes
from interstellar.data.vocabulary import Vocabulary
from tests.tiny_graphs import ring, write_rows


def test_those_alike_stand_together() -> None:
    names = ["b", "A", "x", "B", "a", "ﬁ", "fi"]

    alike = find_lookalikes(Vocabulary(names))

    assert [names[place] for place in alike] == ["b", "B", "A", "a", "ﬁ", "fi"]


def test_distinct_names_are_not_alike() -> None:
    for names in (["a", "b"], ["A", "B"], ["É", "E"], []):
        assert len(find_lookalikes(Vocabulary(names))) == 0


def test_a_pair_says_in_which_graph_they_are(tmp_path: Path) -> None:
    first, second = ring(10), [*ring(10), ("E0", "next", "e0")]
    pairs = write_rows(tmp_path / "pairs.tsv", [(f"e{i}", f"e{i}") for i in range(10)])

    notes = load(first, second=second, pairs=pairs).notes

    assert notes[-1].startswith("graph 2: 2 entities have names that differ")
