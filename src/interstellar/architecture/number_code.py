"""The 11-number code, the notation of the authors' program.

[c_s, 4·x_r + c_r, 4·x_v + c_v, act_s, act_r, W_1, …, W_6]: combinators 0 +, 1 ⊙, 2 ⊗,
3 gated; sources 0 s_t, 1 h_{t-1}, 2 O_s, 3 zero; activations 0 identity, 1 tanh,
2 sigmoid; W_i 1 where it is trained.
"""

import re
from collections.abc import Sequence
from numbers import Integral

from interstellar.architecture.architecture import (
    N_WEIGHTS,
    Activation,
    Architecture,
    Combinator,
    Macro,
    Micro,
    Source,
)
from interstellar.errors import ArchitectureError

COMBINATORS = tuple(Combinator)
SOURCES = tuple(Source)
ACTIVATIONS = tuple(Activation)

PLACES = (
    ("the combinator of O_s", 4),
    ("4·source+combinator of O_r", 16),
    ("4·source+combinator of O_v", 16),
    ("the activation of O_s", 3),
    ("the activation of O_r", 3),
    *((f"W_{i}, 1 if trained", 2) for i in range(1, N_WEIGHTS + 1)),
)
"""What each number says, and how many values it has."""

EXAMPLE = "[0,4,10,1,1,0,0,1,1,0,1]"


def to_code(architecture: Architecture) -> tuple[int, ...]:
    """Return the 11 numbers."""
    macro, micro = architecture.macro, architecture.micro
    return (
        COMBINATORS.index(macro.subject),
        4 * SOURCES.index(macro.relation_source) + COMBINATORS.index(macro.relation),
        4 * SOURCES.index(macro.output_source) + COMBINATORS.index(macro.output),
        ACTIVATIONS.index(micro.subject_activation),
        ACTIVATIONS.index(micro.relation_activation),
        *(int(i in micro.trained) for i in range(1, N_WEIGHTS + 1)),
    )


def from_code(code: Sequence[int]) -> Architecture:
    """Return the architecture that 11 numbers stand for."""
    _check_code(code)
    macro = Macro(
        subject=COMBINATORS[code[0]],
        relation=COMBINATORS[code[1] % 4],
        output=COMBINATORS[code[2] % 4],
        relation_source=SOURCES[code[1] // 4],
        output_source=SOURCES[code[2] // 4],
    )
    micro = Micro(
        subject_activation=ACTIVATIONS[code[3]],
        relation_activation=ACTIVATIONS[code[4]],
        trained=frozenset(i for i in range(1, N_WEIGHTS + 1) if code[4 + i]),
    )
    return Architecture(macro, micro)


def code_text(architecture: Architecture) -> str:
    """Return the code as one word, `[0,4,10,1,1,0,0,1,1,0,1]`."""
    return "[" + ",".join(map(str, to_code(architecture))) + "]"


def looks_like_code(text: str) -> bool:
    """Return whether `text` is made of numbers only, so that it can only be meant as a code."""
    return re.fullmatch(r"[\s\[\](),+\-0-9]*[0-9][\s\[\](),+\-0-9]*", text) is not None


def from_code_text(text: str) -> Architecture:
    """Read the code as written, with or without brackets, between commas or spaces."""
    bare = text.strip()
    if bare[:1] + bare[-1:] in ("[]", "()"):
        bare = bare[1:-1]
    words = bare.replace(",", " ").split()
    strange = next((word for word in words if not re.fullmatch(r"-?[0-9]{1,9}", word)), None)
    if strange is not None:
        raise ArchitectureError(
            f"The code {text.strip()!r} contains {strange!r}, which is not a number. "
            f"A code is {len(PLACES)} whole numbers between commas, such as {EXAMPLE}."
        )
    return from_code([int(word) for word in words])


def _check_code(code: Sequence[int]) -> None:
    if len(code) != len(PLACES):
        raise ArchitectureError(
            f"The code {list(code)} has {len(code)} numbers, but a code has {len(PLACES)}: "
            "three for the operators, two for the activations and six for W_1 to W_6. "
            f"An example is {EXAMPLE}."
        )
    for place, (number, (meaning, n_values)) in enumerate(zip(code, PLACES, strict=True), 1):
        if not _is_whole(number) or not 0 <= number < n_values:
            raise ArchitectureError(
                f"Number {place} of the code {list(code)} is {number!r}, but it says "
                f"{meaning}, which goes from 0 to {n_values - 1}. Correct that number."
            )


def _is_whole(number: object) -> bool:
    """Return whether this is a whole number, also one of NumPy's; True and False are not."""
    return isinstance(number, Integral) and not isinstance(number, bool)
