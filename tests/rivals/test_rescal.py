"""RESCAL against its formula, and against PyKEEN."""

import pytest
import torch

from interstellar.rivals.rescal import RESCAL
from tests.rivals.small_scores import draw_tables, score_all, score_with_pykeen


def test_a_logit_is_the_bilinear_form() -> None:
    score = RESCAL(2)
    s, R = torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0, 1.0, 3.0, 0.0]])

    logits = score.logits(score.query(s, R, None), torch.tensor([[5.0, 7.0]]))

    assert logits.item() == 1 * 1 * 7 + 2 * 3 * 5


def test_scores_are_those_of_pykeen() -> None:
    modules = pytest.importorskip("pykeen.nn.modules")
    score = RESCAL(4)
    entities, relations = draw_tables(score)

    found = score_all(score, entities, relations, 1)

    R = relations[1].view(4, 4)
    theirs = score_with_pykeen(modules.RESCALInteraction(), entities, R, entities)
    torch.testing.assert_close(found, theirs)
