"""The numbers of the paper that can be checked without training."""

from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.literature import COMPLEX, DISTMULT, PUBLISHED, TRANSE
from interstellar.architecture.notation import to_code, to_formula
from interstellar.architecture.search_space import SearchSpace
from interstellar.data.graph import GraphPair
from interstellar.data.loading import load
from interstellar.paths.walk_settings import WalkSettings
from tests.benchmark_sets import requires_set


def test_the_space_has_the_papers_sizes() -> None:
    """Appendix A.1: 4² · 4³ = 1024, 3² · 2⁶ = 576, about 6 · 10⁵."""
    space = SearchSpace()

    assert (space.n_macro, space.n_micro, space.n_total) == (1024, 576, 589_824)


def test_single_hop_models_combine_subject_and_relation() -> None:
    """Table 1: v_t = s_t + r_t, s_t ⊙ r_t, s_t ⊗ r_t."""
    formulas = [to_formula(canonical_form(model)) for model in (TRANSE, DISTMULT, COMPLEX)]

    assert formulas == [f"O_r = s {c} r; v = O_r" for c in "+⊙⊗"]


def test_walks_have_the_papers_settings() -> None:
    """Table "Parameter used for sampling path"."""
    one, two = WalkSettings.link_prediction(), WalkSettings.alignment()

    assert (one.depth_bias, one.cross_bias, one.length) == (0.7, None, 3)
    assert (two.depth_bias, two.cross_bias, two.length) == (0.9, 0.9, 7)


def test_published_architectures_keep_their_codes() -> None:
    assert to_code(PUBLISHED["Interstellar-WN18RR"]) == (0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0)
    assert to_code(PUBLISHED["Interstellar-EN-DE"]) == (2, 2, 7, 1, 0, 0, 0, 1, 0, 0, 0)


@requires_set("entity-alignment/EN-FR-normal")
def test_evaluation_pairs_are_10_500_where_the_paper_says_11_500() -> None:
    graph = load("EN-FR")

    assert isinstance(graph, GraphPair)
    assert (len(graph.train), len(graph.valid) + len(graph.test)) == (4500, 10_500)
    assert len(graph.valid) == 1050
