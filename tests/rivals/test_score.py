"""What every scoring function promises."""

import pytest
import torch

from interstellar.data.triplets import Triplets
from interstellar.model.path_network import NetworkSize
from interstellar.rivals.building import Surroundings, build_score
from interstellar.rivals.catalogue import Rival
from interstellar.rivals.rival_settings import RivalLoss
from interstellar.rivals.score import Score
from interstellar.rivals.triplet_network import TripletLosses
from tests.rivals.small_scores import N_ENTITIES, N_RELATIONS, draw_tables, score_all

SINGLE = (
    Rival.TRANSE_DISTANCE,
    Rival.TRANSD,
    Rival.ROTATE,
    Rival.RESCAL,
    Rival.TUCKER,
    Rival.CONVE,
    Rival.AUTOSF_WN18RR,
    Rival.AUTOSF_FB15K_237,
)
LOSSES = TripletLosses(
    loss=RivalLoss.SOFTMAX, margin=6, n_negatives=None, label_smoothing=0, dropout=0.5, n3=0
)


SIZE = NetworkSize(n_entities=N_ENTITIES, n_relations=N_RELATIONS, dim=8)


def build(rival: Rival, size: NetworkSize = SIZE) -> Score:
    none = torch.zeros(0, 3, dtype=torch.int32).numpy()
    return build_score(
        rival,
        Surroundings(
            size=size,
            losses=LOSSES,
            n_layers=1,
            triplets=Triplets(none),
            n_source=None,
        ),
    )


@pytest.mark.parametrize("rival", SINGLE)
def test_an_own_logit_is_that_among_all(rival: Rival) -> None:
    score = build(rival)
    entities, relations = draw_tables(score)
    s, r = entities[[0, 1, 2, 3]], relations[[0, 4, 5, 1]]
    query = score.query(s, r, None)

    own = score.own_logits(query, entities[[6, 0, 2, 3]])

    expected = score.logits(query, entities)[range(4), [6, 0, 2, 3]]
    torch.testing.assert_close(own, expected)


@pytest.mark.parametrize("rival", SINGLE)
def test_entities_in_another_order_have_the_same_logits(rival: Rival) -> None:
    score = build(rival)
    entities, relations = draw_tables(score)
    order = torch.tensor([3, 0, 6, 5, 1, 2, 4])

    found = score_all(score, entities[order], relations, 1)

    torch.testing.assert_close(found, score_all(score, entities, relations, 1)[order][:, order])


@pytest.mark.parametrize("rival", SINGLE)
def test_subject_relation_and_object_all_count(rival: Rival) -> None:
    score = build(rival)
    entities, relations = draw_tables(score)

    found = score_all(score, entities, relations, 0)

    assert (found.std(dim=0) > 0).all()
    assert (found.std(dim=1) > 0).all()
    assert not torch.allclose(found, score_all(score, entities, relations, 1))


@pytest.mark.parametrize("rival", [Rival.TUCKER, Rival.CONVE])
def test_in_training_a_score_drops_and_takes_the_statistics_of_the_batch(rival: Rival) -> None:
    score = build(rival)
    entities, relations = draw_tables(score)
    s, r = entities[[0, 1, 2]], relations[[0, 1, 2]]
    before = score.query(s, r, None).detach()

    one, other = (
        score.query(s, r, torch.Generator().manual_seed(seed)).detach() for seed in (0, 1)
    )

    assert not torch.allclose(one, other)
    after = score.query(s, r, None).detach()
    assert not torch.allclose(before, after), "the running statistics have moved"
    assert torch.equal(after, score.query(s, r, None).detach()), "an answer moves nothing"
