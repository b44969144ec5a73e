"""Names as a person may have meant them: the nearest spellings of one that is unknown."""

import difflib
import json
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from interstellar.data.vocabulary import UNKNOWN, Vocabulary, as_array
from interstellar.errors import SettingsError
from interstellar.printable import printable

MOST_SPELLINGS = 3
LEAST_RATIO = 0.6
"""Of `difflib`: 1 for equal names, 0 for names without a common letter."""
SIEVED = 200
"""Names that share the rarest pieces with the one that was asked for; only these are compared."""
COMPARED_LETTERS = 48
"""Of longer names only the last letters count, where the names of web addresses differ."""
SHOWN_LETTERS = 80
LAST_PART_MARKS = ("/", "#", ":")
"""Before the last part of a web address, the one that people say."""
_BEGIN, _END = "\x02", "\x03"
_N_SLOTS = 2**16


@dataclass(frozen=True, slots=True)
class Spellings:
    """What a vocabulary holds that is like a name."""

    variants: tuple[str, ...]
    """Other names that differ from it by case or Unicode form only; each is a thing of its own."""
    close: tuple[str, ...]
    """Names spelled nearly alike, nearest first."""


def find_name(vocabulary: Vocabulary, name: str, *, kind: str) -> int:
    """Return the id of a name, which must stand in the vocabulary letter by letter.

    Raises:
        SettingsError: It is no `kind` ("entity" or "relation"); the nearest spellings are said.
    """
    found = vocabulary.id(name)
    if found == UNKNOWN:
        raise SettingsError(describe_unknown(vocabulary, name, kind=kind))
    return found


def describe_unknown(vocabulary: Vocabulary, name: str, *, kind: str) -> str:
    """Return in a sentence that a name is unknown, and which ones it may stand for."""
    spellings = find_spellings(vocabulary, name)
    article = "an" if kind[0] in "aeiou" else "a"
    asked, listed = quote_apart(name, spellings.variants)
    fault = f"{asked} is not {article} {kind} of this graph"
    if spellings.variants:
        verb = "is" if len(spellings.variants) == 1 else "are"
        return (
            f"{fault}, but {listed} {verb}. Names that differ by case or Unicode form are kept "
            "apart: write the one that is meant."
        )
    if spellings.close:
        return f"{fault}. Did you mean {' or '.join(map(quote, spellings.close))}?"
    return f"{fault}, nor is anything spelled like it. Names must stand as in the data."


def find_spellings(vocabulary: Vocabulary, name: str) -> Spellings:
    """Return the names of a vocabulary that are most like `name`, which itself is left out."""
    close = dict.fromkeys((*_find_ends(vocabulary, name), *_find_close(vocabulary, name)))
    return Spellings(find_variants(vocabulary, name), tuple(close)[:MOST_SPELLINGS])


def find_variants(vocabulary: Vocabulary, name: str) -> tuple[str, ...]:
    """Return the other names that differ from `name` by case or Unicode form (NFKC) only."""
    if len(vocabulary) == 0:
        return ()
    is_alike = pc.equal(_fold(vocabulary.array), _fold(_one(name))[0])
    alike: list[str] = vocabulary.array.filter(is_alike).to_pylist()
    return tuple(other for other in alike if other != name)[:MOST_SPELLINGS]


def quote(name: str, *, as_ascii: bool = False) -> str:
    """Return a name in quotes on one line that cannot command a terminal; a long one is cut."""
    return printable(json.dumps(shorten(name), ensure_ascii=as_ascii))


def shorten(name: str) -> str:
    """Return a name, with the middle of a very long one left out."""
    half = SHOWN_LETTERS // 2
    return name if len(name) <= SHOWN_LETTERS else f"{name[:half]}…{name[-half:]}"


def quote_apart(name: str, variants: Iterable[str]) -> tuple[str, str]:
    """Return a name and its variants in quotes; letters as numbers where the eye sees no odds."""
    names = (name, *variants)
    is_seen = len({unicodedata.normalize("NFKC", each) for each in names}) == len(names)
    asked, *others = (quote(each, as_ascii=not is_seen) for each in names)
    return asked, " and ".join(others)


def _find_ends(vocabulary: Vocabulary, name: str) -> tuple[str, ...]:
    """Return the web addresses whose last part is `name`, in any case."""
    if len(vocabulary) == 0 or name == "":
        return ()
    [asked] = _one(name).to_pylist()
    is_end = [
        pc.ends_with(vocabulary.array, pattern=mark + asked, ignore_case=True)
        for mark in LAST_PART_MARKS
    ]
    ends: list[str] = vocabulary.array.filter(reduce(pc.or_, is_end)).to_pylist()
    return tuple(ends[:MOST_SPELLINGS])


def _find_close(vocabulary: Vocabulary, name: str) -> tuple[str, ...]:
    sieved = vocabulary.array.take(pa.array(_sieve(vocabulary.array, name)))
    names: list[str] = sieved.to_pylist()
    ends: list[str] = _ends(sieved).to_pylist()
    [asked] = _ends(_one(name)).to_pylist()
    pairs = list(zip(names, ends, strict=True))
    found = difflib.get_close_matches(asked, ends, MOST_SPELLINGS, LEAST_RATIO)
    alike = [other for end in dict.fromkeys(found) for other, e in pairs if e == end]
    return tuple(other for other in alike if other != name)[:MOST_SPELLINGS]


def _sieve(names: pa.Array, name: str) -> npt.NDArray[np.int64]:
    """Return the places of the names that share most with `name`, at most `SIEVED`, best first.

    Shared are pieces of three bytes, begin and end of a name included; a rare piece weighs
    more: log(pieces / occurrences). Weights of what both have, over weights of what either has.
    """
    if len(names) <= SIEVED:
        return np.arange(len(names))
    slots, starts = _pieces(names)
    asked, _ = _pieces(_one(name))
    weights = np.log(len(slots) / np.maximum(1, np.bincount(slots, minlength=_N_SLOTS)))
    weights = weights.astype(np.float32)
    is_asked = np.zeros(_N_SLOTS, dtype=np.float32)
    is_asked[asked] = 1
    own = np.add.reduceat(weights[slots], starts)
    shared = np.add.reduceat((weights * is_asked)[slots], starts)
    likeness = shared / np.maximum(own + weights[np.unique(asked)].sum() - shared, 1e-6)
    best = np.argpartition(-likeness, SIEVED)[:SIEVED]
    return best[np.argsort(-likeness[best], kind="stable")]


def _pieces(names: pa.Array) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.int64]]:
    """Return the hashed pieces of three bytes of all names, and where each name's begin.

    The order of the three does not count, so that swapped letters (crul, curl) leave pieces alike.
    """
    marked = pc.binary_join_element_wise(_BEGIN, _ends(names), _END, "")
    begins = np.frombuffer(marked.buffers()[1], dtype=np.int32)[: len(names) + 1].astype(np.int64)
    letters = np.frombuffer(marked.buffers()[2], dtype=np.uint8, count=int(begins[-1]))
    padded = np.append(letters, np.zeros(2, dtype=np.uint8))
    a, b, c = padded[:-2], padded[1:-1], padded[2:]
    least, most = np.minimum(np.minimum(a, b), c), np.maximum(np.maximum(a, b), c)
    middle = a ^ b ^ c ^ least ^ most
    pieces = (
        least.astype(np.uint32) << np.uint32(16) | middle.astype(np.uint32) << np.uint32(8) | most
    )
    hashed = (pieces * np.uint32(0x9E3779B1)) >> np.uint32(16)
    return hashed.astype(np.uint16), begins[:-1]


def _ends(names: pa.Array) -> pa.Array:
    """Return the last letters of each name, in small letters."""
    return pc.utf8_lower(pc.utf8_slice_codeunits(names, start=-COMPARED_LETTERS))


def _fold(names: pa.Array) -> pa.Array:
    """Return names without what case and Unicode form make of them."""
    if pc.all(pc.string_is_ascii(names)).as_py():
        return pc.ascii_lower(names)
    return pc.utf8_lower(pc.utf8_normalize(names, form="NFKC"))


def _one(name: str) -> pa.Array:
    """Return one name for Arrow; bytes of the terminal that are no text become question marks."""
    return as_array([name.encode("utf-8", errors="replace").decode()])


def find_lookalikes(vocabulary: Vocabulary) -> npt.NDArray[np.int64]:
    """Return the ids of all names that another is like, those alike one after the other."""
    folded = _fold(vocabulary.array)
    if folded.equals(vocabulary.array) or pc.count_distinct(folded).as_py() == len(folded):
        return np.empty(0, dtype=np.int64)  # a vocabulary has no name twice
    codes = folded.dictionary_encode().indices.to_numpy()
    alike = np.flatnonzero(np.bincount(codes)[codes] > 1)
    return alike[np.argsort(codes[alike], kind="stable")]
