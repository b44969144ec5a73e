"""What the biased walk can be told: length, number and biases of the paths."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from interstellar.errors import SettingsError
from interstellar.words import choose

if TYPE_CHECKING:
    from interstellar.data.graph import AnyGraph

MAX_LENGTH = 2**15


class WalkRule(StrEnum):
    """Which neighbours the depth bias α and the cross bias β favour."""

    PROGRAM = "program"
    """As the authors' program, which made the paper's tables.

    β favours seed entities of either graph, from the second step on; α favours what does not
    also leave the path's first entity by the same relation, from the third step on.
    """
    PAPER = "paper"
    """As the paper's appendix: both biases from the second step on.

    β favours entities of the other graph; α favours entities two steps from the previous one.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkSettings:
    """How paths are sampled; with graph and seed it decides every path."""

    length: int
    """Triplets in a path."""
    paths_per_triplet: int = 2
    """Paths that have a given triplet as their first step."""
    depth_bias: float
    """α: a favoured neighbour weighs α, any other 1 − α."""
    cross_bias: float | None = None
    """β, in the same way; None where there is only one graph."""
    rule: WalkRule = WalkRule.PROGRAM

    def __post_init__(self) -> None:
        for name, most in (("length", MAX_LENGTH), ("paths_per_triplet", 2**20)):
            if not 1 <= getattr(self, name) <= most:
                raise SettingsError(
                    f"{name} is {getattr(self, name)}, but it must be a whole number from 1 to "
                    f"{most}. The paper's paths have 3 triplets (one graph) or 7 (two), and 2 "
                    "start from each."
                )
        for name in ("depth_bias", "cross_bias"):
            bias = getattr(self, name)
            if bias is not None and not 0.5 < bias < 1:
                raise SettingsError(
                    f"{name} is {bias}, but a bias, α or β, must lie strictly between 0.5 and 1. "
                    "Take a value just above 0.5 for hardly any bias; the paper has 0.7 and 0.9."
                )

    @classmethod
    def link_prediction(cls) -> Self:
        """Return the paper's settings for one graph: three triplets, α = 0.7."""
        return cls(length=3, depth_bias=0.7)

    @classmethod
    def alignment(cls) -> Self:
        """Return the paper's settings for two graphs: seven triplets, α = β = 0.9."""
        return cls(length=7, depth_bias=0.9, cross_bias=0.9)


def walk_settings_for(
    graph: "AnyGraph",
    *,
    length: int | None = None,
    paths_per_triplet: int = 2,
    depth_bias: float | None = None,
    cross_bias: float | None = None,
    rule: str = WalkRule.PROGRAM,
) -> WalkSettings:
    """Return the paper's settings for a graph or a pair, with those changed that are given."""
    from interstellar.data.graph import GraphPair  # noqa: PLC0415 (settings must be quick to have)

    is_pair = isinstance(graph, GraphPair)
    paper = WalkSettings.alignment() if is_pair else WalkSettings.link_prediction()
    if cross_bias is not None and not is_pair:
        raise SettingsError(
            f"cross_bias is {cross_bias}, but {graph.name} is one graph, and it leads walks into "
            "the other of two. Leave it out."
        )
    return WalkSettings(
        length=paper.length if length is None else length,
        paths_per_triplet=paths_per_triplet,
        depth_bias=paper.depth_bias if depth_bias is None else depth_bias,
        cross_bias=paper.cross_bias if cross_bias is None else cross_bias,
        rule=choose("rule", rule, WalkRule),
    )
