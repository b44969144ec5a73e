"""TuckER against its formula, and against PyKEEN with the same weights and statistics."""

import pytest
import torch

from interstellar.rivals.tucker import TuckER
from tests.rivals.small_scores import draw_tables, score_all


def test_a_logit_is_the_tensor_times_all_vectors() -> None:
    score = TuckER(4, n_relations=1, dropout=0.5)
    entities, relations = draw_tables(score)
    W = score.W.detach().view(2, 4, 4)

    found = score_all(score, entities, relations[:2], 1)

    expected = torch.einsum("rso,as,r,bo->ab", W, entities, relations[1], entities)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


def test_relations_have_no_more_numbers_than_there_are_relations() -> None:
    assert TuckER(8, n_relations=2, dropout=0).relation_length == 4
    assert TuckER(8, n_relations=200, dropout=0).relation_length == 8


def test_scores_are_those_of_pykeen() -> None:
    modules = pytest.importorskip("pykeen.nn.modules")
    score = TuckER(4, n_relations=3, dropout=0.5)
    entities, relations = draw_tables(score)
    theirs = modules.TuckERInteraction(embedding_dim=4, relation_dim=4).double()
    theirs.core_tensor.data = score.W.detach().view(4, 4, 4).transpose(0, 1)
    ours = (score.norm_of_subjects, score.norm_of_queries)
    for norm, other in zip(
        ours, (theirs.head_batch_norm, theirs.head_relation_batch_norm), strict=True
    ):
        for parameter in norm.parameters():
            parameter.data.uniform_(0.5, 1.5)
        other.weight.data, other.bias.data = norm.weight.data, norm.bias.data
        other.running_mean, other.running_var = norm.mean.data, norm.variance.data

    found = score_all(score, entities, relations, 1)

    theirs.eval()
    with torch.no_grad():
        expected = torch.cat(
            [theirs(h.expand(7, -1), relations[1].expand(7, -1), entities)[None] for h in entities]
        )
    torch.testing.assert_close(found, expected)
