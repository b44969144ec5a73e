"""What a model can be asked over HTTP, and what it answers: typed values, read and described here.

A question is the query of an address; an answer is JSON. The description of the interface
(`openapi`) is made from these same values.
"""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from typing import (
    Annotated,
    Any,
    TypeAlias,
    TypeVar,
    assert_never,
    get_args,
    get_origin,
    get_type_hints,
)

from interstellar.errors import SettingsError
from interstellar.words import choose

MOST_ANSWERS = 1000


class Way(StrEnum):
    """What can be asked."""

    PREDICT = "predict"
    ALIGN = "align"


class Likeness(StrEnum):
    """By what partners are listed: the decodings of `align` that give each entity several."""

    COSINE = "cosine"
    CSLS = "csls"
    SINKHORN = "sinkhorn"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkQuestion:
    """Which entities complete a triplet? One of subject and object is given."""

    relation: Annotated[str, "The relation that is asked for."]
    subject: Annotated[str | None, "Ask for objects of this entity."] = None
    object: Annotated[str | None, "Ask for subjects of this entity."] = None
    k: Annotated[int, "How many answers, at most 1000."] = 10
    with_known: Annotated[bool, "Do not leave known facts out."] = False

    def __post_init__(self) -> None:
        _check_ends("subject", self.subject, "object", self.object)
        _check_k(self.k)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartnerQuestion:
    """Which entities of the other graph mean the same? One of source and target is given."""

    source: Annotated[str | None, "An entity of the first graph."] = None
    target: Annotated[str | None, "An entity of the second graph."] = None
    k: Annotated[int, "How many answers, at most 1000."] = 10
    decode: Annotated[Likeness, "By what partners are ranked."] = Likeness.SINKHORN

    def __post_init__(self) -> None:
        _check_ends("source", self.source, "target", self.target)
        _check_k(self.k)


Question: TypeAlias = LinkQuestion | PartnerQuestion
AnyQuestion = TypeVar("AnyQuestion", LinkQuestion, PartnerQuestion)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One answer."""

    entity: Annotated[str, "Its name."]
    label: Annotated[str, "What people call it; its name where the graph has no labels."]
    rank: Annotated[int, "1 for the highest score."]
    score: Annotated[float, "The logit."]
    probability: Annotated[float | None, "That this is the missing answer; null if it is known."]
    known: Annotated[bool, "Whether the graph says so already."]


@dataclass(frozen=True, slots=True, kw_only=True)
class Partner:
    """One answer."""

    entity: Annotated[str, "Its name."]
    label: Annotated[str, "What people call it; its name where the graph has no labels."]
    rank: Annotated[int, "1 for the highest score."]
    score: Annotated[float, "Cosine or CSLS; of Sinkhorn the share of the plan; of known pairs 1."]
    known: Annotated[bool, "Whether the pair was given."]


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The answers, best first."""

    query: Annotated[LinkQuestion, "What was asked."]
    answers: tuple[Link, ...]
    temperature: Annotated[float | None, "What logits are divided by; null: it was not fitted."]


@dataclass(frozen=True, slots=True, kw_only=True)
class Partners:
    """The answers, best first."""

    query: Annotated[PartnerQuestion, "What was asked."]
    answers: tuple[Partner, ...]


Answers: TypeAlias = Links | Partners


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why there is no answer."""

    error: str


def read_question(way: Way, given: Iterable[tuple[str, str]]) -> Question:
    """Return the question that the names and values of an address ask."""
    match way:
        case Way.PREDICT:
            return _read(LinkQuestion, given)
        case Way.ALIGN:
            return _read(PartnerQuestion, given)
        case _:
            assert_never(way)


def hints_of(kind: type) -> dict[str, tuple[Any, str]]:
    """Return the plain type of each field of a value, and its help."""
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        is_helped = get_origin(hint) is Annotated
        plain, said = get_args(hint)[:2] if is_helped else (hint, "")
        found[name] = plain, str(said)
    return found


def _read(kind: type[AnyQuestion], given: Iterable[tuple[str, str]]) -> AnyQuestion:
    hints = hints_of(kind)
    values: dict[str, Any] = {}
    for name, text in given:
        if name not in hints:
            raise SettingsError(f"`{name}` is not asked for here. Give {', '.join(hints)}.")
        if name in values:
            raise SettingsError(f"`{name}` was given twice. Give it once.")
        values[name] = _read_value(name, hints[name][0], text)
    missing = [f.name for f in fields(kind) if f.default is MISSING and f.name not in values]
    if missing:
        raise SettingsError(f"`{missing[0]}` is missing, and without it nothing is asked. Give it.")
    return kind(**values)


_TRUTHS: Mapping[str, bool] = {"true": True, "1": True, "false": False, "0": False}


def _read_value(name: str, kind: Any, text: str) -> Any:
    if kind is int:
        if text.isascii() and text.isdigit() and len(text) < 10:
            return int(text)
        raise SettingsError(f"`{name}` is {text[:40]!r}, but it is a number such as 10.")
    if kind is bool:
        if text.lower() in _TRUTHS:
            return _TRUTHS[text.lower()]
        raise SettingsError(f"`{name}` is {text[:40]!r}, but it is true or false.")
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return choose(name, text, kind)
    return text


def _check_ends(one: str, first: str | None, other: str, second: str | None) -> None:
    if (first is None) == (second is None):
        found = f"neither `{one}` nor `{other}` was" if first is None else "both ends were"
        raise SettingsError(f"{found} given, but one is known and the other asked for. Give one.")


def _check_k(k: int) -> None:
    if not 1 <= k <= MOST_ANSWERS:
        raise SettingsError(f"`k` is {k}, but it is from 1 to {MOST_ANSWERS}.")
