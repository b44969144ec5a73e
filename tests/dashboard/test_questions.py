import pytest

from interstellar.dashboard.questions import (
    Likeness,
    LinkQuestion,
    PartnerQuestion,
    Question,
    Way,
    hints_of,
    read_question,
)
from interstellar.errors import SettingsError


@pytest.mark.parametrize(
    ("way", "given", "question"),
    [
        (
            Way.PREDICT,
            {"subject": "a b", "relation": "r"},
            LinkQuestion(subject="a b", relation="r"),
        ),
        (
            Way.PREDICT,
            {"object": "", "relation": "r", "k": "3", "with_known": "True"},
            LinkQuestion(object="", relation="r", k=3, with_known=True),
        ),
        (Way.ALIGN, {"source": "a"}, PartnerQuestion(source="a")),
        (
            Way.ALIGN,
            {"target": "a", "decode": "csls", "k": "1000"},
            PartnerQuestion(target="a", decode=Likeness.CSLS, k=1000),
        ),
    ],
)
def test_an_address_asks_a_question(way: Way, given: dict[str, str], question: Question) -> None:
    assert read_question(way, given.items()) == question


@pytest.mark.parametrize(
    ("way", "query", "said"),
    [
        (Way.PREDICT, "", "`relation` is missing"),
        (Way.PREDICT, "relation=r", "neither `subject` nor `object`"),
        (Way.PREDICT, "relation=r&subject=a&object=b", "both ends"),
        (Way.PREDICT, "relation=r&subject=a&subject=b", "given twice"),
        (Way.PREDICT, "relation=r&subject=a&colour=red", "`colour` is not asked for"),
        (Way.PREDICT, "relation=r&subject=a&k=0", "from 1 to 1000"),
        (Way.PREDICT, "relation=r&subject=a&k=1001", "from 1 to 1000"),
        (Way.PREDICT, "relation=r&subject=a&k=-1", "a number such as"),
        (Way.PREDICT, "relation=r&subject=a&k=9999999999999", "a number such as"),
        (Way.PREDICT, "relation=r&subject=a&k=٣", "a number such as"),
        (Way.PREDICT, "relation=r&subject=a&with_known=perhaps", "true or false"),
        (Way.ALIGN, "source=a&target=b", "both ends"),
        (Way.ALIGN, "", "neither `source` nor `target`"),
        (Way.ALIGN, "source=a&decode=hungarian", "cosine, csls or sinkhorn"),
        (Way.ALIGN, "source=a&relation=r", "`relation` is not asked for"),
    ],
)
def test_what_asks_nothing_is_refused(way: Way, query: str, said: str) -> None:
    pairs = [tuple(pair.split("=")) for pair in query.split("&") if pair]

    with pytest.raises(SettingsError, match=said):
        read_question(way, [(name, value) for name, value in pairs])


@pytest.mark.parametrize("kind", [LinkQuestion, PartnerQuestion])
def test_every_part_of_a_question_has_its_help(kind: type) -> None:
    assert all(said.endswith(".") for _, said in hints_of(kind).values())
