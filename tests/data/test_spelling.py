"""An unknown name is answered with those that may have been meant."""

import random
import time
import unicodedata

import pytest

from interstellar.data.spelling import describe_unknown, find_name, find_spellings, find_variants
from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import SettingsError

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


def test_an_empty_vocabulary_has_nothing_to_offer() -> None:
    assert find_spellings(Vocabulary([]), "a").close == ()


@pytest.mark.parametrize("prefix", ["", "http://example.org/a/long/common/address/of/everything/"])
def test_one_of_a_hundred_thousand_names_is_found_at_once(prefix: str) -> None:
    names = many_names(100_000, prefix)
    meant = names.name(70_123)
    started = time.perf_counter()

    found = find_spellings(names, meant[:-4] + meant[-3:])

    assert meant in found.close
    assert time.perf_counter() - started < 1  # 0.1 s alone; the machine may be busy


def test_very_long_names_are_compared_by_their_ends() -> None:
    names = Vocabulary(["a" * 10_000 + str(i) for i in range(500)])

    found = find_spellings(names, "a" * 9_000 + "499")

    assert names.name(499) in found.close
