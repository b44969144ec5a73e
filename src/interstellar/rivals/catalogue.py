"""Every model that has a name: what it is for, how it scores, what a triplet costs, who made it.

Those in the space are architectures (`architecture/literature.py`) and are trained by the common
loop as any other. A rival is outside the space: why is said of each. Complexity is that of one
query against n entities with d numbers each; |E| are the edges, |R| the relations, L the layers.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from interstellar.architecture.literature import ALIGNERS, LITERATURE, PROPAGATIONS, PUBLISHED
from interstellar.architecture.notation import to_formula
from interstellar.data.graph import Task
from interstellar.errors import ArchitectureError


class Rival(StrEnum):
    """A model outside the space, by the name of its authors."""

    TRANSE_DISTANCE = "TransE-distance"
    TRANSD = "TransD"
    ROTATE = "RotatE"
    RESCAL = "RESCAL"
    TUCKER = "TuckER"
    CONVE = "ConvE"
    AUTOSF_WN18RR = "AutoSF-WN18RR"
    AUTOSF_FB15K_237 = "AutoSF-FB15k-237"
    R_GCN = "R-GCN"
    COMPGCN = "CompGCN"
    RSN_LSTM = "RSN-LSTM"
    BOOTEA = "BootEA"
    GCN_ALIGN = "GCN-Align"
    VR_GCN = "VR-GCN"
    DUAL_AMN = "Dual-AMN"


class Place(StrEnum):
    """Where a model stands."""

    SPACE = "space"
    """A point of the search space of cells, run along walks."""
    PROPAGATION = "propagation"
    """A point of the space of propagations."""
    OUTSIDE = "outside"


LINKS, PAIRS = Task.LINK_PREDICTION, Task.ENTITY_ALIGNMENT
BOTH = (LINKS, PAIRS)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """What is known of a model with a name."""

    name: str
    tasks: tuple[Task, ...]
    place: Place
    idea: str
    """In one sentence."""
    formula: str
    complexity: str
    paper: str
    remark: str = ""
    """Of a rival: what of it the space does not hold. Of others: what differs from the paper."""

    @property
    def is_in_space(self) -> bool:
        """Whether a search can find it."""
        return self.place is not Place.OUTSIDE


@dataclass(frozen=True, slots=True)
class _Facts:
    tasks: tuple[Task, ...]
    formula: str
    complexity: str
    paper: str
    remark: str


_RIVALS: Mapping[Rival, _Facts] = {
    Rival.TRANSE_DISTANCE: _Facts(
        BOTH,
        "φ = γ − ‖s + r − o‖₁",
        "n d",
        "Bordes et al. 2013",
        "The space has products in place of distances; its TransE is v = s + r with v · o.",
    ),
    Rival.TRANSD: _Facts(
        BOTH,
        "φ = γ − ‖s⊥ + r − o⊥‖², x⊥ = x + (x_p · x) r_p",
        "n d",
        "Ji et al. 2015",
        "Objects are projected by the relation, and compared by distance.",
    ),
    Rival.ROTATE: _Facts(
        (LINKS,),
        "φ = γ − Σ_k |s_k e^{iθ_k} − o_k|",
        "n d",
        "Sun et al. 2019",
        "The space has r of any length in place of a turn, and products in place of distances.",
    ),
    Rival.RESCAL: _Facts(
        (LINKS,),
        "φ = sᵀ R o",
        "d² + n d, d² numbers a relation",
        "Nickel et al. 2011",
        "A matrix of each relation; the space has a vector of each.",
    ),
    Rival.TUCKER: _Facts(
        (LINKS,),
        "φ = W ×₁ s ×₂ r ×₃ o",
        "d² d_r + n d",
        "Balažević et al. 2019",
        "A tensor between the vectors; matrices of the space do not depend on the relation.",
    ),
    Rival.CONVE: _Facts(
        (LINKS,),
        "φ = f(vec(f([s̄; r̄] ∗ ω)) W) · o + b_o",
        "filters · d² + n d",
        "Dettmers et al. 2018",
        "Convolutions; the space has none.",
    ),
    Rival.AUTOSF_WN18RR: _Facts(
        (LINKS,),
        "φ = Σ_ij a_ij ⟨s_i, r_|a_ij|, o_j⟩ over quarters of the vectors",
        "n d",
        "Zhang et al. 2020 (AutoSF), found on WN18RR",
        "Products of quarters, each of its own sign; the space has ⊙ of wholes and ⊗ of halves.",
    ),
    Rival.AUTOSF_FB15K_237: _Facts(
        (LINKS,),
        "φ = Σ_ij a_ij ⟨s_i, r_|a_ij|, o_j⟩ over quarters of the vectors",
        "n d",
        "Zhang et al. 2020 (AutoSF), found on FB15k-237",
        "Products of quarters, each of its own sign; the space has ⊙ of wholes and ⊗ of halves.",
    ),
    Rival.R_GCN: _Facts(
        BOTH,
        "x ← relu(W₀ x + Σ_r Σ_{y ∈ N_r(x)} W_r y / |N(x)|), W_r = Σ_b a_rb V_b; φ = ⟨s, r, o⟩",
        "L (|E| d + n d² bases) once, then n d",
        "Schlichtkrull et al. 2018",
        "All neighbours of an entity at once; the space follows paths.",
    ),
    Rival.COMPGCN: _Facts(
        (LINKS,),
        "x ← tanh(Σ W_dir (y ∗ r) + W_self (x ∗ r_loop)), r ← W_rel r; φ = ⟨s, r, o⟩",
        "L (|E| d + n d²) once, then n d",
        "Vashishth et al. 2020",
        "All neighbours of an entity at once; the space follows paths.",
    ),
    Rival.RSN_LSTM: _Facts(
        BOTH,
        "h_t = LSTM(x_t, h_{t−1}); v_t = S₁ h_t + S₂ s_t after a relation, h_t after an entity",
        "L d² + n d",
        "Guo et al. 2019",
        "An LSTM of two layers; the space has the plain cell, which is RSN there.",
    ),
    Rival.BOOTEA: _Facts(
        (PAIRS,),
        "‖s + r − o‖² under a limit for what is true, above another for what is not",
        "n d",
        "Sun et al. 2018",
        "Distances and a loss of limits; its bootstrapping is `align --iterate`.",
    ),
    Rival.GCN_ALIGN: _Facts(
        (PAIRS,),
        "X ← relu(D̂^{-½} Â D̂^{-½} X), margins between seeds and wrong pairs",
        "L |E| d",
        "Wang et al. 2018",
        "All neighbours of an entity at once, and a loss of pairs.",
    ),
    Rival.VR_GCN: _Facts(
        (PAIRS,),
        "x ← relu(W (x + Σ (y − r) or (y + r)) / (1 + |N(x)|)), r ← U r; a loss of pairs",
        "L (|E| d + n d²)",
        "Ye et al. 2019",
        "All neighbours of an entity at once, and a loss of pairs.",
    ),
    Rival.DUAL_AMN: _Facts(
        (PAIRS,),
        "x ← tanh(Σ α (y − 2 (y · r̂) r̂)); gated with x − Σ β p, p proxies; the hardest wrong pairs",
        "L |E| d + n (L d)²",
        "Mao et al. 2021",
        "All neighbours of an entity at once, and a loss of pairs.",
    ),
}
_PAPERS = {
    "TransE": "Bordes et al. 2013",
    "DistMult": "Yang et al. 2014",
    "ComplEx": "Trouillon et al. 2017",
    "PTransE-add": "Lin et al. 2015",
    "PTransE-mul": "Lin et al. 2015",
    "PTransE-RNN": "Lin et al. 2015",
    "Chains": "Das et al. 2016",
    "IPTransE": "Zhu et al. 2017",
    "RSN": "Guo et al. 2019",
    "NBFNet": "Zhu et al. 2021",
    "NBFNet-TransE": "Zhu et al. 2021",
    "NBFNet-RotatE": "Zhu et al. 2021",
    "NBFNet-sum": "Zhu et al. 2021",
    "RED-GNN": "Zhang and Yao 2022",
}
_IDEAS = {
    "TransE": "A relation is a shift from its subject to its object.",
    "DistMult": "A relation weighs each coordinate of what its ends have in common.",
    "ComplEx": "DistMult in complex numbers, so that a relation may differ from its inverse.",
    "PTransE-add": "TransE along paths: the shifts of all relations are added up.",
    "PTransE-mul": "The same with products of the relations.",
    "PTransE-RNN": "The relations of a path go through a recurrent cell.",
    "Chains": "A recurrent cell reads the relations of a path and the entities between them.",
    "RSN": "A recurrent cell, and past it a short cut from the subject of each step.",
    "IPTransE": "PTransE of two graphs with shared seeds; pairs that are found become seeds.",
    "NBFNet": "Messages along all paths from the subject at once, each edge a DistMult.",
    "RED-GNN": "Messages along all paths at once, weighed by an attention to the query.",
    "NBFNet-TransE": "NBFNet with sums as messages.",
    "NBFNet-RotatE": "NBFNet with complex products as messages.",
    "NBFNet-sum": "NBFNet that adds messages up.",
    "TransE-distance": "TransE as it was published: the object is near where the shift leads.",
    "TransD": "Each pair of entity and relation has a projection of its own, made of two vectors.",
    "RotatE": "A relation turns each complex coordinate by an angle.",
    "RESCAL": "A relation is a matrix between all coordinates of its ends.",
    "TuckER": "One small tensor for all relations, which the vector of each one weighs.",
    "ConvE": "Subject and relation form a picture, which a convolution reads.",
    "AutoSF-WN18RR": "A bilinear function of quarters of the vectors that a search has found.",
    "AutoSF-FB15k-237": "A bilinear function of quarters of the vectors that a search has found.",
    "R-GCN": "Entities take up their neighbours, through a matrix of each relation.",
    "CompGCN": "Entities take up their neighbours composed with the relations, which change too.",
    "RSN-LSTM": "RSN as its authors built it.",
    "BootEA": "Translations in both graphs at once; pairs that are found become seeds.",
    "GCN-Align": "Graph convolutions with shared weights draw seeds of two graphs together.",
    "VR-GCN": "Graph convolutions in which relations have vectors too.",
    "Dual-AMN": "Neighbours are mirrored by relations, and the nearest wrong pairs are told apart.",
}
_FOUND = "Found by the paper's search."
_INTERSTELLAR = "Zhang et al. 2020 (Interstellar)"
_REMARKS = {
    "TransE": "v · o in place of a distance.",
    "PTransE-RNN": "With the plain cell.",
    "Chains": "With the plain cell.",
    "IPTransE": "PTransE-add along paths through both graphs; its iteration is `align --iterate`.",
    "RSN": "With plain cells in place of its LSTM.",
    "RED-GNN": "With a gate in place of its GRU.",
    "NBFNet-RotatE": "The vectors of relations are not of length 1.",
}
_WITH_MATRICES = "d² + n d a step"


def known_models() -> tuple[KnownModel, ...]:
    """Return every model with a name: the space's, the propagations', the others."""
    cells = [
        KnownModel(
            name=name,
            tasks=(PAIRS,) if name in ALIGNERS else BOTH,
            place=Place.SPACE,
            idea=_IDEAS.get(name, _FOUND),
            formula=to_formula(architecture),
            complexity=_WITH_MATRICES if architecture.micro.trained else "n d a step",
            paper=_PAPERS.get(name, _INTERSTELLAR),
            remark=_REMARKS.get(name, ""),
        )
        for name, architecture in {**LITERATURE, **ALIGNERS, **PUBLISHED}.items()
    ]
    propagations = [
        KnownModel(
            name=name,
            tasks=(LINKS,),
            place=Place.PROPAGATION,
            idea=_IDEAS[name],
            formula=line,
            complexity="L (|E| d + n d²)",
            paper=_PAPERS[name],
            remark=_REMARKS.get(name, ""),
        )
        for name, line in PROPAGATIONS.items()
    ]
    return (*cells, *propagations, *map(facts_of, Rival))


def facts_of(rival: Rival) -> KnownModel:
    """Return what is known of a rival."""
    facts = _RIVALS[rival]
    return KnownModel(
        name=rival.value,
        tasks=facts.tasks,
        place=Place.OUTSIDE,
        idea=_IDEAS[rival],
        formula=facts.formula,
        complexity=facts.complexity,
        paper=facts.paper,
        remark=facts.remark,
    )


def find_model(name: str) -> KnownModel | None:
    """Return what is known under a name, in any case, or None."""
    wanted = name.strip().casefold()
    return next((model for model in known_models() if model.name.casefold() == wanted), None)


def names_like(text: str) -> list[str]:
    """Return the names that a misspelt one may stand for, the likeliest first."""
    names = {model.name.casefold(): model.name for model in known_models()}
    return [names[each] for each in difflib.get_close_matches(text.strip().casefold(), names)]


def find_rival(name: str) -> Rival | None:
    """Return the rival of a name, in any case, or None."""
    wanted = name.strip().casefold()
    return next((rival for rival in Rival if rival.casefold() == wanted), None)


def refuse_rival(text: str) -> None:
    """Raise where a search is given a model that it cannot change."""
    if (rival := find_rival(text)) is not None:
        raise ArchitectureError(
            f"{rival} is outside the search space, and a search is of architectures in it. Give "
            "one of these, or train or tune the rival by its name."
        )


def rivals_for(task: Task) -> list[Rival]:
    """Return the rivals that do a task."""
    return [rival for rival in Rival if task in _RIVALS[rival].tasks]
