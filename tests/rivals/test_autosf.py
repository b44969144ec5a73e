"""The functions that AutoSF found: their blocks, and what they make of vectors."""

import pytest
import torch
from torch import Tensor

from interstellar.errors import SettingsError
from interstellar.rivals.autosf import FB15K_237, WN18RR, AutoSF, Block
from tests.rivals.small_scores import draw_tables, score_all

THEIRS = {
    WN18RR: "1,0,2,3,3,1,1,1,3,0,0,1,0,3,2,-1,1,2,3,-1,1,3,1,-1,0,1,3,-1",
    FB15K_237: "2,1,3,0",
}
"""As in the authors' file: objects of s_i r_i, then r, s, o, sign of each further block."""


def score_as_they_do(code: str, s: Tensor, r: Tensor, o: Tensor) -> Tensor:
    """Return φ of one triplet from the numbers of the authors."""
    numbers = [int(number) for number in code.split(",")]
    s_i, r_k, o_j = (x.chunk(4) for x in (s, r, o))
    total = sum(((s_i[i] * r_k[i] * o_j[numbers[i]]).sum() for i in range(4)), torch.tensor(0.0))
    for start in range(4, len(numbers), 4):
        k, i, j, sign = numbers[start : start + 4]
        total = total + sign * (s_i[i] * r_k[k] * o_j[j]).sum()
    return total


@pytest.mark.parametrize("blocks", [WN18RR, FB15K_237], ids=["WN18RR", "FB15k-237"])
def test_scores_are_those_of_the_authors_numbers(blocks: tuple[Block, ...]) -> None:
    score = AutoSF(blocks, 8)
    entities, relations = draw_tables(score)

    found = score_all(score, entities, relations, 1)

    for i, s in enumerate(entities):
        for j, o in enumerate(entities):
            expected = score_as_they_do(THEIRS[blocks], s, relations[1], o)
            assert found[i, j].item() == pytest.approx(expected.item())


def test_vectors_without_quarters_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"dim is 6, .* Choose a multiple of 4"):
        AutoSF(WN18RR, 6)
