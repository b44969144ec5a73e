"""Published models as points of the search space: data, not classes.

PTransE-RNN, Chains and RSN were published with a recurrent "cell" (Table 1 of the paper).
The space holds only the plain (Elman) cell, tanh(W a + W b), so that is what stands here;
the same models with LSTM or GRU cells, as RSN's authors used, are outside the space.
"""

from functools import cache

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.formula_reading import from_formula
from interstellar.architecture.number_code import from_code

TRANSE = from_formula("O_r = s + r; v = O_r")
"""Bordes et al. 2013."""
DISTMULT = from_formula("O_r = s ⊙ r; v = O_r")
"""Yang et al. 2014."""
COMPLEX = from_formula("O_r = s ⊗ r; v = O_r")
"""Trouillon et al. 2017."""
PTRANSE_ADD = from_formula("O_r = h + r; v = O_r")
"""Lin et al. 2015."""
PTRANSE_MUL = from_formula("O_r = h ⊙ r; v = O_r")
"""Lin et al. 2015."""
PTRANSE_RNN = from_formula("O_r = tanh(W3 h + W4 r); v = O_r")
"""Lin et al. 2015, with the plain cell."""
CHAINS = from_formula("O_s = s + h; O_r = tanh(W3 O_s + W4 r); v = O_r")
"""Das et al. 2016, as the paper reads it (Section 3.1), with the plain cell."""
RSN = from_formula("O_s = tanh(W1 s + W2 h); O_r = tanh(W3 O_s + W4 r); v = W5 s + W6 O_r")
"""Guo et al. 2019, with plain cells in place of its LSTM."""

LITERATURE = {
    "TransE": TRANSE,
    "DistMult": DISTMULT,
    "ComplEx": COMPLEX,
    "PTransE-add": PTRANSE_ADD,
    "PTransE-mul": PTRANSE_MUL,
    "PTransE-RNN": PTRANSE_RNN,
    "Chains": CHAINS,
    "RSN": RSN,
}
"""Designed by people."""

PUBLISHED = {
    "Interstellar-DBP-WD": from_code([0, 4, 10, 1, 1, 0, 0, 1, 1, 0, 1]),
    "Interstellar-DBP-YG": from_code([1, 11, 2, 2, 1, 0, 1, 1, 1, 0, 1]),
    "Interstellar-EN-FR": from_code([0, 2, 7, 0, 0, 0, 0, 0, 0, 0, 0]),
    "Interstellar-EN-DE": from_code([2, 2, 7, 1, 0, 0, 0, 1, 0, 0, 0]),
    "Interstellar-DBP-WD-dense": from_code([0, 10, 7, 0, 1, 0, 0, 0, 0, 0, 0]),
    "Interstellar-DBP-YG-dense": from_code([2, 10, 2, 2, 0, 0, 0, 0, 0, 0, 0]),
    "Interstellar-EN-FR-dense": from_code([0, 2, 7, 0, 0, 0, 0, 0, 0, 0, 0]),
    "Interstellar-EN-DE-dense": from_code([0, 2, 7, 0, 0, 0, 0, 0, 0, 0, 0]),
    "Interstellar-WN18RR": from_code([0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]),
    "Interstellar-FB15k-237": from_code([2, 1, 11, 1, 1, 0, 0, 0, 0, 0, 0]),
}
"""Found by the paper's search on each data set; three of them are one and the same."""

NAMED = {**LITERATURE, **PUBLISHED}


def find_by_name(name: str) -> Architecture | None:
    """Return the architecture published as `name`, in any case, or None."""
    return _architecture_by_folded_name().get(name.strip().casefold())


def name_of(architecture: Architecture) -> str | None:
    """Return the name under which the same network was published, or None.

    The first in the order of `NAMED` counts: people's names come before the search's.
    """
    return _name_by_canonical_form().get(canonical_form(architecture))


@cache
def _architecture_by_folded_name() -> dict[str, Architecture]:
    return {name.casefold(): architecture for name, architecture in NAMED.items()}


@cache
def _name_by_canonical_form() -> dict[Architecture, str]:
    names: dict[Architecture, str] = {}
    for name, architecture in NAMED.items():
        names.setdefault(canonical_form(architecture), name)
    return names
