import torch

from interstellar.rivals.distmult import DistMult
from tests.rivals.small_networks import vectors


def test_a_logit_is_the_product_of_three_vectors() -> None:
    s, r, o = vectors(2, 4), vectors(2, 4, seed=2), vectors(3, 4, seed=3)
    score = DistMult(4)

    logits = score.logits(score.query(s, r, None), o)

    torch.testing.assert_close(logits, torch.einsum("nk,nk,mk->nm", s, r, o))
    torch.testing.assert_close(score.own_logits(score.query(s, r, None), o[:2]), logits.diagonal())
