"""What the supernet of a strategy is to be trained for."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from interstellar.architecture.architecture import Architecture, Macro
from interstellar.architecture.notation import code_text, from_code_text
from interstellar.searching.natural_gradient import ControllerState


class Kind(StrEnum):
    """What is to be done, in the words of the journal."""

    TRIAL = "trial"
    SHARED = "shared weights"
    RELAXED = "relaxed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SupernetRound:
    """A supernet to be trained, whose weights many architectures share.

    With a controller, one architecture is drawn from it for each training step; after every two
    steps the two are compared on one mini-batch and the controller moves (Algorithm 3). Without
    one, all options are mixed by weights that are learnt (DARTS).
    """

    n_epochs: int
    controller: ControllerState | None = None
    """Over the micro choices, or over all thirteen where `macro` is None."""
    macro: Macro | None = None
    """The macro level of all that is drawn (hybrid search); None: that is drawn too."""

    @property
    def kind(self) -> Kind:
        return Kind.RELAXED if self.controller is None else Kind.SHARED

    def as_plain(self) -> dict[str, Any]:
        if self.controller is None:
            return {"epochs": self.n_epochs}
        macro = None if self.macro is None else code_text(Architecture(self.macro))
        return {"macro": macro, "controller": self.controller.as_dict(), "epochs": self.n_epochs}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], kind: Kind) -> Self:
        if kind is Kind.RELAXED:
            return cls(n_epochs=plain["epochs"])
        controller, code = ControllerState.from_dict(plain["controller"]), plain["macro"]
        macro = None if code is None else from_code_text(code).macro
        return cls(n_epochs=plain["epochs"], controller=controller, macro=macro)
