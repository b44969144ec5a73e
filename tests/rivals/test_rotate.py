"""RotatE against its formula in complex numbers, and against PyKEEN."""

import pytest
import torch

from interstellar.rivals.rotate import RotatE
from tests.rivals.small_scores import draw_tables, score_all, score_with_pykeen


def test_relations_turn_the_subject() -> None:
    score = RotatE(2, margin=6)
    s, quarter_turn = torch.tensor([[3.0, 4.0]]), torch.tensor([[torch.pi / 2]])
    objects = torch.tensor([[-4.0, 3.0], [0.0, 0.0]])

    logits = score.logits(score.query(s, quarter_turn, None), objects)

    torch.testing.assert_close(logits, torch.tensor([[6.0, 1.0]]))


def test_scores_of_one_coordinate_are_those_of_pykeen() -> None:
    """With more, PyKEEN has the root of the squares, where the paper adds up the moduli."""
    modules = pytest.importorskip("pykeen.nn.modules")
    score = RotatE(2, margin=6)
    entities, angles = draw_tables(score)
    z = torch.complex(*entities.chunk(2, dim=1))
    turn = torch.polar(torch.ones_like(angles[2]), angles[2])

    found = score_all(score, entities, angles, 2)

    theirs = score_with_pykeen(modules.RotatEInteraction(), z, turn, z)
    torch.testing.assert_close(found - 6, theirs)
