"""TransD by the matrices of the paper, and against PyKEEN."""

import pytest
import torch

from interstellar.rivals.transd import TransD
from tests.rivals.small_scores import draw_tables, score_all, score_with_pykeen


def test_both_ends_are_projected_by_a_matrix_of_entity_and_relation() -> None:
    score = TransD(4, margin=3)
    entities, relations = draw_tables(score)
    (x, x_p), (r, r_p) = entities.chunk(2, dim=1), relations[2].chunk(2)
    M = r_p.unsqueeze(1) * x_p.unsqueeze(1) + torch.eye(4, dtype=torch.double)
    projected = (M @ x.unsqueeze(2)).squeeze(2)

    found = score_all(score, entities, relations, 2)

    expected = 3 - (projected.unsqueeze(1) + r - projected.unsqueeze(0)).square().sum(dim=2)
    torch.testing.assert_close(found, expected)


def test_scores_are_those_of_pykeen_where_it_cuts_no_length() -> None:
    modules = pytest.importorskip("pykeen.nn.modules")
    score = TransD(4, margin=3)
    entities, relations = (0.2 * table for table in draw_tables(score))
    both = tuple(x.contiguous() for x in entities.chunk(2, dim=1))

    found = score_all(score, entities, relations, 0)

    interaction = modules.TransDInteraction(p=2, power_norm=True)
    theirs = score_with_pykeen(interaction, both, relations[0].chunk(2), both)
    torch.testing.assert_close(found - 3, theirs)
