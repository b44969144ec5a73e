"""TransE with distances by hand, and against PyKEEN."""

import pytest
import torch

from interstellar.rivals.transe_distance import TransEDistance
from tests.rivals.small_scores import draw_tables, score_all, score_with_pykeen


def test_a_logit_is_the_margin_less_the_distance() -> None:
    score = TransEDistance(2, margin=9)
    s, r = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, -1.0]])
    objects = torch.tensor([[4.0, 1.0], [0.0, 0.0]])

    logits = score.logits(score.query(s, r, None), objects)

    assert logits.tolist() == [[9.0, 4.0]]


def test_scores_are_those_of_pykeen() -> None:
    modules = pytest.importorskip("pykeen.nn.modules")
    score = TransEDistance(6, margin=9)
    entities, relations = draw_tables(score)

    found = score_all(score, entities, relations, 1)

    theirs = score_with_pykeen(modules.TransEInteraction(p=1), entities, relations[1], entities)
    torch.testing.assert_close(found - 9, theirs)
