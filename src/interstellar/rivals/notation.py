"""What a text names: a point of the search space, in any notation, or a rival. Needs no torch."""

from typing import TypeAlias

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.literature import find_propagation
from interstellar.architecture.notation import (
    code_text,
    from_code_text,
    read_architecture,
    to_formula,
)
from interstellar.errors import ArchitectureError
from interstellar.rivals.catalogue import Rival, find_rival, names_like

AnyModel: TypeAlias = Architecture | Rival
"""What is trained: the kind of a model says the rest."""


def read_model(text: str) -> AnyModel:
    """Return the architecture, or the rival, that a text stands for."""
    if (rival := find_rival(text)) is not None:
        return rival
    if find_propagation(text) != text:
        raise ArchitectureError(
            f"{text.strip()} is a propagation, and this is for architectures along walks and for "
            "rivals. Train it by its name, or search with the model propagation."
        )
    try:
        return read_architecture(text)
    except ArchitectureError:
        close = names_like(text)
        if not close:
            raise
        raise ArchitectureError(
            f"{text[:80]!r} is not an architecture. Did you mean {' or '.join(close)}? "
            "`interstellar models` lists every name."
        ) from None


def read_noted(text: str) -> AnyModel:
    """Return what `model_text` wrote."""
    return find_rival(text) or from_code_text(text)


def model_text(model: AnyModel) -> str:
    """Return an architecture as its 11-number code, a rival as its name."""
    return model.value if isinstance(model, Rival) else code_text(model)


def model_formula(text: str) -> str:
    """Return what an architecture computes as a formula, of a rival its name."""
    model = read_model(text)
    return model.value if isinstance(model, Rival) else to_formula(canonical_form(model))
