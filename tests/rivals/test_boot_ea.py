"""Translations of unit vectors."""

import pytest
import torch

from interstellar.rivals.boot_ea import BootEA


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape) + shape[0]))


def test_a_logit_is_less_by_the_squared_distance_of_the_translated_unit_vectors() -> None:
    s, r, objects = draw(2, 4), draw(3, 4)[:2], draw(5, 4)
    score = BootEA(4)

    logits = score.logits(score.query(s, r, None), objects)

    for row in range(2):
        for number in range(5):
            parts = [x / x.norm() for x in (s[row], r[row], objects[number])]
            distance = ((parts[0] + parts[1] - parts[2]) ** 2).sum()
            assert logits[row, number].item() == pytest.approx(-distance.item(), abs=1e-5)


def test_the_length_of_a_vector_says_nothing() -> None:
    s, r, objects = draw(2, 4), draw(3, 4)[:2], draw(5, 4)
    score = BootEA(4)

    scaled = score.logits(score.query(3 * s, 0.5 * r, None), 7 * objects)

    torch.testing.assert_close(scaled, score.logits(score.query(s, r, None), objects))


def test_an_answer_of_ones_own_has_the_logit_it_has_among_all() -> None:
    objects = draw(5, 4)
    score = BootEA(4)
    query = score.query(draw(5, 4), draw(6, 4)[:5], None)

    own = score.own_logits(query, objects)

    torch.testing.assert_close(own, score.logits(query, objects).diagonal())


def test_vectors_are_drawn_of_unit_length() -> None:
    entities, relations = torch.empty(5, 4), torch.empty(6, 4)

    BootEA(4).initialise(entities, relations, torch.Generator().manual_seed(0))

    for table in (entities, relations):
        torch.testing.assert_close(table.norm(dim=1), torch.ones(len(table)))
