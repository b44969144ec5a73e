"""Several networks as one."""

import pytest
import torch

from interstellar.architecture.literature import NAMED
from interstellar.model.joined_network import join
from interstellar.model.path_network import NetworkForm, NetworkSize, PathNetwork

SIZE = NetworkSize(n_entities=7, n_relations=3, dim=6)
LINKS = NetworkForm(has_batch_norm=False, is_two_way=True)
PAIRS = NetworkForm(has_batch_norm=True, is_two_way=False)


def draw(name: str, form: NetworkForm, seed: int) -> PathNetwork:
    network = PathNetwork.of(NAMED[name], SIZE, form, dropout=0.0).double()
    network.initialise(torch.Generator().manual_seed(seed))
    return network


@pytest.mark.parametrize("name", NAMED)
def test_the_logits_of_networks_joined_are_the_sum_of_theirs(name: str) -> None:
    members = [draw(name, LINKS, seed) for seed in range(3)]
    subjects = torch.arange(7).repeat_interleave(6)
    relations = torch.arange(6).repeat(7)

    joined = join(NAMED[name], members).double()

    wanted = sum(member.logits(subjects, relations) for member in members)
    torch.testing.assert_close(joined.logits(subjects, relations), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["ComplEx", "RSN", "Found-DBP-WD"])
def test_outputs_along_paths_are_those_of_the_members(name: str) -> None:
    members = [draw(name, LINKS, seed) for seed in range(2)]
    subjects, relations = torch.arange(6).view(2, 3), torch.arange(6).view(2, 3)

    joined = join(NAMED[name], members).double()

    v = joined.unroll(subjects, relations)
    wanted = sum(m.unroll(subjects, relations).square().sum() for m in members)
    torch.testing.assert_close(v.square().sum(), wanted, rtol=1e-5, atol=1e-6)


def test_the_cosine_of_embeddings_joined_is_the_mean_of_the_members_cosines() -> None:
    members = [draw("RSN", PAIRS, seed) for seed in range(2)]
    cosine = torch.nn.functional.cosine_similarity
    wanted = sum(cosine(m.subjects[0], m.subjects[1], dim=0) for m in members) / 2

    joined = join(NAMED["RSN"], members)

    found = cosine(joined.subjects[0], joined.subjects[1], dim=0).double()
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
