import pytest
import torch

from interstellar.rivals.comp_gcn import CompGCN
from interstellar.rivals.distmult import DistMult
from interstellar.rivals.network import for_many
from interstellar.rivals.rival_settings import RivalLoss
from interstellar.rivals.triplet_network import TripletNetwork
from tests.rivals.small_networks import SIZE, TRIPLETS, losses, seeded


def small_network() -> TripletNetwork:
    told = losses(RivalLoss.SOFTMAX, n_negatives=None, dropout=0.5)
    encoder = CompGCN(TRIPLETS, SIZE, n_layers=1, dropout=told.dropout)
    network = TripletNetwork("CompGCN", DistMult(SIZE.dim), SIZE, told, encoder)
    network.initialise(seeded())
    return network


def test_what_is_set_up_for_many_queries_encodes_once_and_answers_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network, n_encodings = small_network(), 0
    query = torch.tensor([0, 4]), torch.tensor([1, 2])
    expected = network.logits(*query)
    encode = CompGCN.encode

    def counted(*arguments: object) -> object:
        nonlocal n_encodings
        n_encodings += 1
        return encode(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(CompGCN, "encode", counted)
    ready = for_many(network)
    answers = [ready.logits(*query) for _ in range(3)]

    assert all(torch.equal(answer, expected) for answer in answers)
    assert n_encodings == 1


def test_a_network_that_encodes_nothing_stays_itself() -> None:
    plain = TripletNetwork("DistMult", DistMult(SIZE.dim), SIZE, losses())

    assert for_many(plain) is plain
