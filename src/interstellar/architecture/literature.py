"""Published models as points of the search space: data, not classes.

PTransE-RNN, Chains and RSN were published with a recurrent "cell" (Table 1 of the paper).
The space holds only the plain (Elman) cell, tanh(W a + W b), so that is what stands here;
the same models with LSTM or GRU cells, as RSN's authors used, are outside the space.
"""

from dataclasses import replace
from functools import cache

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form, first_of_each
from interstellar.architecture.formula import from_formula
from interstellar.architecture.number_code import from_code
from interstellar.architecture.propagation import (
    Propagation,
    RelationVectors,
    canonical_propagation,
    from_text,
)

LITERATURE = {
    "TransE": from_formula("O_r = s + r; v = O_r"),  # Bordes et al. 2013
    "DistMult": from_formula("O_r = s ⊙ r; v = O_r"),  # Yang et al. 2014
    "ComplEx": from_formula("O_r = s ⊗ r; v = O_r"),  # Trouillon et al. 2017
    # Lin et al. 2015, the last with the plain cell.
    "PTransE-add": from_formula("O_r = h + r; v = O_r"),
    "PTransE-mul": from_formula("O_r = h ⊙ r; v = O_r"),
    "PTransE-RNN": from_formula("O_r = tanh(W3 h + W4 r); v = O_r"),
    # Das et al. 2016, as the paper reads it (Section 3.1), with the plain cell.
    "Chains": from_formula("O_s = s + h; O_r = tanh(W3 O_s + W4 r); v = O_r"),
    # Guo et al. 2019, with plain cells in place of its LSTM.
    "RSN": from_formula("O_s = tanh(W1 s + W2 h); O_r = tanh(W3 O_s + W4 r); v = W5 s + W6 O_r"),
}
"""Designed by people."""

TRANSE, DISTMULT, COMPLEX, PTRANSE_ADD, PTRANSE_MUL, PTRANSE_RNN, CHAINS, RSN = LITERATURE.values()

PREFIX = "Interstellar-"

PUBLISHED = {
    f"{PREFIX}DBP-WD": from_code([0, 4, 10, 1, 1, 0, 0, 1, 1, 0, 1]),
    f"{PREFIX}DBP-YG": from_code([1, 11, 2, 2, 1, 0, 1, 1, 1, 0, 1]),
    f"{PREFIX}EN-FR": from_code([0, 2, 7, 0, 0, 0, 0, 0, 0, 0, 0]),
    f"{PREFIX}EN-DE": from_code([2, 2, 7, 1, 0, 0, 0, 1, 0, 0, 0]),
    f"{PREFIX}DBP-WD-dense": from_code([0, 10, 7, 0, 1, 0, 0, 0, 0, 0, 0]),
    f"{PREFIX}DBP-YG-dense": from_code([2, 10, 2, 2, 0, 0, 0, 0, 0, 0, 0]),
    f"{PREFIX}EN-FR-dense": from_code([0, 2, 7, 0, 0, 0, 0, 0, 0, 0, 0]),
    f"{PREFIX}EN-DE-dense": from_code([0, 2, 7, 0, 0, 0, 0, 0, 0, 0, 0]),
    f"{PREFIX}WN18RR": from_code([0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]),
    f"{PREFIX}FB15k-237": from_code([2, 1, 11, 1, 1, 0, 0, 0, 0, 0, 0]),
}
"""Found by the paper's search on each data set; three of them are one and the same."""

FOUND_ON_DBP_WD = from_code([0, 10, 7, 1, 1, 1, 1, 0, 1, 1, 0])
"""Found by our own search (results/searches/dbp_wd_hybrid)."""

ALIGNERS = {"IPTransE": PTRANSE_ADD}  # Zhu et al. 2017; its iteration is `align --iterate`
"""Designed by people to align two graphs; elsewhere they have another name."""

NAMED = {**LITERATURE, **PUBLISHED, "Found-DBP-WD": FOUND_ON_DBP_WD, **ALIGNERS}


KNOWN = tuple(
    first_of_each(
        (
            *(COMPLEX, DISTMULT, FOUND_ON_DBP_WD),
            *(PUBLISHED[f"{PREFIX}{data}"] for data in ("EN-DE", "FB15k-237", "DBP-WD", "WN18RR")),
            *(RSN, TRANSE),
            *PUBLISHED.values(),
            *LITERATURE.values(),
        )
    )
)
"""What a search begins with: first those that are among the best on some graph."""

_PNA = "v = O_r; aggregation = pna; attention = none; update = residual"
PROPAGATIONS = {
    # Zhu et al. 2021, with the messages of DistMult, TransE and RotatE.
    "NBFNet": f"O_r = h ⊙ r; {_PNA}",
    # Zhang and Yao 2022, the gate in place of its GRU; AdaProp (Zhang et al. 2023) prunes it.
    "RED-GNN": "O_r = h + r; v = O_r; aggregation = sum; attention = query; update = gate",
    "NBFNet-TransE": f"O_r = h + r; {_PNA}",
    "NBFNet-RotatE": f"O_r = h ⊗ r; {_PNA}",  # our r is not of length 1
    "NBFNet-sum": f"O_r = h ⊙ r; {_PNA.replace('pna', 'sum')}",
}
"""Designed by people, with all their choices but the depth and where relation vectors come from:
their authors set these anew for each graph. A search of propagations begins with them."""


def published_on(data: str) -> Architecture:
    """Return what the paper's search found on a set."""
    return PUBLISHED[f"{PREFIX}{data}"]


def find_by_name(name: str) -> Architecture | None:
    """Return the architecture published as `name`, in any case, or None."""
    wanted = name.strip().casefold()
    return next((NAMED[known] for known in NAMED if known.casefold() == wanted), None)


def find_propagation(text: str) -> str:
    """Return the line of a propagation published as `text`, in any case; else the text itself."""
    lines = {name.casefold(): line for name, line in PROPAGATIONS.items()}
    return lines.get(text.strip().casefold(), text)


def name_of(network: Architecture | Propagation) -> str | None:
    """Return the name under which the same network was published, or None.

    The first in the order of `NAMED` counts: people's names come before the search's.
    """
    if isinstance(network, Architecture):
        return _name_by_canonical_form().get(canonical_form(network))
    return _name_by_propagation().get(_named_choices(network))


@cache
def _name_by_canonical_form() -> dict[Architecture, str]:
    return {canonical_form(NAMED[name]): name for name in reversed(NAMED)}


@cache
def _name_by_propagation() -> dict[Propagation, str]:
    return {_named_choices(from_text(line)): name for name, line in PROPAGATIONS.items()}


def _named_choices(propagation: Propagation) -> Propagation:
    """Return the same of whatever depth and relation vectors."""
    alike = replace(propagation, depth=1, relations=RelationVectors.OWN)
    return canonical_propagation(alike)
