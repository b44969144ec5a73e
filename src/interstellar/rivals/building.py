"""Which file makes which rival."""

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from interstellar.data.triplets import Triplets
from interstellar.model.path_network import NetworkSize
from interstellar.rivals.autosf import FB15K_237, WN18RR, AutoSF
from interstellar.rivals.boot_ea import BootEA
from interstellar.rivals.catalogue import Rival
from interstellar.rivals.comp_gcn import CompGCN
from interstellar.rivals.conve import ConvE
from interstellar.rivals.distmult import DistMult
from interstellar.rivals.dual_amn import FIRST_LENGTH, DualAMN
from interstellar.rivals.gcn_align import GCNAlign
from interstellar.rivals.pair_network import EntityEncoder, PairNetwork
from interstellar.rivals.r_gcn import RGCN
from interstellar.rivals.rescal import RESCAL
from interstellar.rivals.rotate import RotatE
from interstellar.rivals.rsn_lstm import SkippingNetwork
from interstellar.rivals.score import Score
from interstellar.rivals.transd import TransD
from interstellar.rivals.transe_distance import TransEDistance
from interstellar.rivals.triplet_network import Encoder, TripletLosses, TripletNetwork
from interstellar.rivals.tucker import TuckER
from interstellar.rivals.vr_gcn import VRGCN

RivalNetwork: TypeAlias = TripletNetwork | PairNetwork | SkippingNetwork
"""The networks of rivals; all have `loss`, `logits`, `subjects`, `initialise` and `formula`."""

OF_PAIRS = (Rival.GCN_ALIGN, Rival.VR_GCN, Rival.DUAL_AMN)
"""Those that know each graph by itself, and the pairs by their loss alone."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Surroundings:
    """What a rival is built for."""

    size: NetworkSize
    losses: TripletLosses
    n_layers: int
    triplets: Triplets
    """Of training, without inverses; of two graphs, with seeds exchanged for their partners, or
    for a rival of which `joins_graphs` is not true each graph's own."""
    n_source: int | None
    """Entities of the first of two graphs."""


def build_rival(rival: Rival, surroundings: Surroundings) -> RivalNetwork:
    """Return an untrained rival, on the CPU."""
    size, losses = surroundings.size, surroundings.losses
    if rival is Rival.RSN_LSTM:
        return SkippingNetwork(size, losses, surroundings.n_layers)
    n_source = surroundings.n_source
    if n_source is not None and learns_pairs(rival, is_alignment=True):
        encoder = build_entity_encoder(rival, surroundings)
        length = FIRST_LENGTH if rival is Rival.DUAL_AMN else 1.0
        return PairNetwork(rival, encoder, size, losses, n_source=n_source, length=length)
    score = build_score(rival, surroundings)
    return TripletNetwork(rival, score, size, losses, build_encoder(rival, surroundings))


def build_score(rival: Rival, surroundings: Surroundings) -> Score:
    """Return how a model of single triplets makes logits of vectors."""
    dim, losses = surroundings.size.dim, surroundings.losses
    match rival:
        case Rival.TRANSE_DISTANCE:
            return TransEDistance(dim, losses.margin)
        case Rival.TRANSD:
            return TransD(dim, losses.margin)
        case Rival.ROTATE:
            return RotatE(dim, losses.margin)
        case Rival.BOOTEA:
            return BootEA(dim)
        case Rival.RESCAL:
            return RESCAL(dim)
        case Rival.TUCKER:
            return TuckER(dim, surroundings.size.n_relations, losses.dropout)
        case Rival.CONVE:
            return ConvE(dim, losses.dropout)
        case Rival.AUTOSF_WN18RR:
            return AutoSF(WN18RR, dim)
        case Rival.AUTOSF_FB15K_237:
            return AutoSF(FB15K_237, dim)
        case Rival.R_GCN | Rival.COMPGCN:
            return DistMult(dim)
        case Rival.RSN_LSTM | Rival.GCN_ALIGN | Rival.VR_GCN | Rival.DUAL_AMN:
            raise AssertionError(f"{rival} scores no single triplets")
        case _:
            assert_never(rival)


def build_encoder(rival: Rival, surroundings: Surroundings) -> Encoder | None:
    """Return what passes vectors along the edges before they are scored, if anything does."""
    triplets, size = surroundings.triplets, surroundings.size
    n_layers, dropout = surroundings.n_layers, surroundings.losses.dropout
    match rival:
        case Rival.R_GCN:
            return RGCN(triplets, size, n_layers=n_layers, dropout=dropout)
        case Rival.COMPGCN:
            return CompGCN(triplets, size, n_layers=n_layers, dropout=dropout)
        case _:
            return None


def has_layers(rival: Rival) -> bool:
    """Return whether a rival is made of as many layers as it is told."""
    return rival in (Rival.R_GCN, Rival.COMPGCN, Rival.RSN_LSTM, *OF_PAIRS)


def learns_paths(rival: Rival) -> bool:
    """Return whether a rival learns paths, in place of single triplets."""
    return rival is Rival.RSN_LSTM


def build_entity_encoder(rival: Rival, surroundings: Surroundings) -> EntityEncoder:
    """Return what passes vectors along the edges before pairs of them are compared."""
    triplets, size = surroundings.triplets, surroundings.size
    n_layers, dropout = surroundings.n_layers, surroundings.losses.dropout
    if rival is Rival.GCN_ALIGN:
        return GCNAlign(triplets, size.n_entities, n_layers=n_layers, dropout=dropout)
    if rival is Rival.VR_GCN:
        return VRGCN(triplets, size, n_layers=n_layers, dropout=dropout)
    if rival is Rival.DUAL_AMN:
        return DualAMN(triplets, size, n_layers=n_layers, dropout=dropout)
    assert rival is Rival.R_GCN, "others learn triplets"
    return RGCN(triplets, size, n_layers=n_layers, dropout=dropout)


def learns_pairs(rival: Rival, *, is_alignment: bool) -> bool:
    """Return whether a rival learns the known pairs of two graphs, in place of triplets."""
    return is_alignment and rival in (Rival.R_GCN, *OF_PAIRS)


def joins_graphs(rival: Rival) -> bool:
    """Return whether what a rival knows of two graphs has seeds exchanged for their partners."""
    return rival not in OF_PAIRS
