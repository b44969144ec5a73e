"""ConvE against PyKEEN with the same weights, and the pictures it makes of vectors."""

import pytest
import torch

from interstellar.errors import SettingsError
from interstellar.rivals.conve import ConvE, picture_of
from tests.rivals.small_scores import draw_tables, score_all


@pytest.mark.parametrize(
    ("dim", "picture"), [(200, (10, 20)), (64, (8, 8)), (6, (2, 3)), (22, (2, 11))]
)
def test_a_vector_is_as_square_a_picture_as_can_be(dim: int, picture: tuple[int, int]) -> None:
    assert picture_of(dim) == picture


@pytest.mark.parametrize("dim", [2, 4])
def test_vectors_too_short_for_a_filter_are_refused(dim: int) -> None:
    with pytest.raises(SettingsError, match=r"at least 2 × 3 numbers\. Choose"):
        ConvE(dim, dropout=0)


def test_each_entity_has_a_bias_of_its_own() -> None:
    score = ConvE(6, dropout=0)
    entities, relations = draw_tables(score)
    before = score_all(score, entities, relations, 0)
    entities[2, -1] += 3

    after = score_all(score, entities, relations, 0)

    moved = torch.zeros(7, dtype=torch.double).index_fill(0, torch.tensor(2), 3.0)
    torch.testing.assert_close(after - before, moved.expand(7, -1))


def test_a_logit_is_the_formula_by_hand() -> None:
    """One filter sees all of one place of the picture of 4 × 3; the batch norms are left out."""
    score = ConvE(6, dropout=0).double()
    s, r = torch.tensor([[1.0, 2, 3, 4, 5, 6]]), torch.tensor([[1.0, 0, 0, 0, 1, 0]])
    places = torch.zeros(6, 32, 2, dtype=torch.double)
    places[2, 0, 0], places[3, 0, 1] = 1, 1
    with torch.no_grad():
        score.initialise(torch.empty(7, 7), torch.empty(6, 6), torch.Generator())
        score.filters.weight.zero_()
        score.filters.weight[0, 0] = torch.tensor([[1, 0, 0], [0, 0, 0], [0, -1, 2]])
        score.W.weight.copy_(places.flatten(1))
    objects = torch.tensor([[0.0, 0, 10, 100, 0, 0, 0.5]]).double()

    query = score.query(torch.cat([s, s[:, :1]], dim=1).double(), r.double(), None)

    upper = 1 - 0 + 2 * 0  # of the rows 123, 456 and 100
    lower = 4 - 1 + 2 * 0  # of 456, 100 and 010
    expected = torch.tensor([[0.0, 0, upper, lower, 0, 0]]).double()
    torch.testing.assert_close(query, expected, rtol=1e-4, atol=1e-8)
    logits = score.logits(query, objects)
    assert logits.item() == pytest.approx(10 * upper + 100 * lower + 0.5, rel=1e-4)


def test_scores_are_those_of_pykeen() -> None:
    modules = pytest.importorskip("pykeen.nn.modules")
    score = ConvE(9, dropout=0.3)
    entities, relations = draw_tables(score)
    for parameter in score.parameters():
        parameter.data.uniform_(0.5, 1.5)
    theirs = modules.ConvEInteraction(embedding_dim=9).double()
    norms = [m for m in theirs.modules() if hasattr(m, "running_mean")]
    [filters] = [m for m in theirs.modules() if isinstance(m, torch.nn.Conv2d)]
    [W] = [m for m in theirs.modules() if isinstance(m, torch.nn.Linear)]
    filters.load_state_dict(score.filters.state_dict())
    W.load_state_dict(score.W.state_dict())
    ours = (score.norm_of_pictures, score.norm_of_maps, score.norm_of_queries)
    for norm, other in zip(ours, norms, strict=True):
        other.weight.data, other.bias.data = norm.weight.data, norm.bias.data
        other.running_mean, other.running_var = norm.mean.data, norm.variance.data
    theirs.eval()
    vectors, biases = entities[:, :-1], entities[:, -1]

    found = score_all(score, entities, relations, 1)

    with torch.no_grad():
        expected = [
            theirs(h.expand(7, -1), relations[1].expand(7, -1), (vectors, biases)) for h in vectors
        ]
    torch.testing.assert_close(found, torch.stack(expected))
