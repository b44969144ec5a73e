"""The nearest spellings of unknown names, and names that look alike."""

import random
import time
import unicodedata
from pathlib import Path

import pytest

from interstellar.data.loading import load
from interstellar.data.spelling import (
    describe_unknown,
    find_lookalikes,
    find_name,
    find_spellings,
    find_variants,
)
from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import SettingsError
from tests.tiny_graphs import ring, write_rows

COUNTRIES = Vocabulary(["France", "Spain", "Italy", "french guiana", "ITALY", "Portugal"])


def many_names(n: int, prefix: str = "") -> Vocabulary:
    rng = random.Random(0)
    syllables = ["ka", "ri", "to", "su", "be", "lo", "gal", "por", "mas", "ten"]
    return Vocabulary([prefix + "".join(rng.choices(syllables, k=7)) + str(i) for i in range(n)])


def test_a_known_name_has_its_id() -> None:
    assert find_name(COUNTRIES, "Spain", kind="entity") == 1


@pytest.mark.parametrize("name", ["Frnace", "Fance", "Francee", "Frence"])
def test_a_misspelled_name_is_answered_with_the_nearest(name: str) -> None:
    with pytest.raises(
        SettingsError, match=r'is not an entity of this graph\. Did you mean "France"'
    ):
        find_name(COUNTRIES, name, kind="entity")


@pytest.mark.parametrize(("name", "meant"), [("crul", "curl"), ("gti", "git"), ("bahs", "bash")])
def test_swapped_letters_of_a_short_name_are_found_among_many(name: str, meant: str) -> None:
    short = ["curl", "git", "bash"]
    names = Vocabulary([*short, *(f"c{i}" for i in range(300)), *many_names(3000).to_list()])

    assert meant in find_spellings(names, name).close


@pytest.mark.parametrize("name", ["stars", "Stars"])
def test_the_last_part_of_a_web_address_is_answered_with_the_whole(name: str) -> None:
    relations = ["http://a.org/film/stars", "http://a.org/film#starsIn", "http://a.org/costars"]

    sentence = describe_unknown(Vocabulary(relations), name, kind="relation")

    assert 'Did you mean "http://a.org/film/stars"?' in sentence


def test_names_of_another_case_are_named_and_kept_apart() -> None:
    sentence = describe_unknown(COUNTRIES, "italy", kind="entity")

    assert '"Italy" and "ITALY" are' in sentence
    assert "kept apart" in sentence


def test_names_of_another_unicode_form_are_told_apart_by_their_letters() -> None:
    composed, apart = (unicodedata.normalize(form, "Ré") for form in ("NFC", "NFD"))

    sentence = describe_unknown(Vocabulary([composed]), apart, kind="entity")

    assert sentence.startswith(r'"Re\u0301" is not an entity of this graph, but "R\u00e9" is.')


def test_a_name_is_no_variant_of_itself() -> None:
    assert find_variants(COUNTRIES, "Italy") == ("ITALY",)
    assert find_variants(COUNTRIES, "Spain") == ()


@pytest.mark.parametrize("name", ["", "日本", "#", "\udcff", "x" * 10_000, "a\tb\nc"])
def test_odd_names_are_answered_in_one_line(name: str) -> None:
    sentence = describe_unknown(many_names(1000), name, kind="relation")

    assert "is not a relation of this graph" in sentence
    assert len(sentence) < 500
    assert "\n" not in sentence
    assert "\t" not in sentence


@pytest.mark.parametrize("name", ["a\x1b[31m", "a\x9b31m", "a\u202eb"])
def test_what_is_said_of_names_cannot_command_a_terminal(name: str) -> None:
    sentence = describe_unknown(Vocabulary([f"{name}c"]), name, kind="entity")

    assert not set(sentence) & set("\x1b\x9b\u202e")


def test_an_empty_vocabulary_has_nothing_to_offer() -> None:
    assert find_spellings(Vocabulary([]), "a").close == ()


@pytest.mark.parametrize("prefix", ["", "http://example.org/a/long/common/address/of/everything/"])
def test_one_of_a_hundred_thousand_names_is_found_at_once(prefix: str) -> None:
    names = many_names(100_000, prefix)
    meant = names.name(70_123)
    started = time.process_time()

    found = find_spellings(names, meant[:-4] + meant[-3:])

    assert meant in found.close
    assert time.process_time() - started < 1  # of its own, however busy the machine


def test_very_long_names_are_compared_by_their_ends() -> None:
    names = Vocabulary(["a" * 10_000 + str(i) for i in range(500)])

    found = find_spellings(names, "a" * 9_000 + "499")

    assert names.name(499) in found.close


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
