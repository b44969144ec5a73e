"""Hypothesis strategies for points of the search space."""

from hypothesis import strategies as st

from interstellar.architecture.architecture import (
    ALL_WEIGHTS,
    Activation,
    Architecture,
    Combinator,
    Macro,
    Micro,
    Source,
)
from interstellar.architecture.propagation import (
    Aggregation,
    Attention,
    Propagation,
    RelationVectors,
    Update,
)

macros = st.builds(
    Macro,
    subject=st.sampled_from(Combinator),
    relation=st.sampled_from(Combinator),
    output=st.sampled_from(Combinator),
    relation_source=st.sampled_from(Source),
    output_source=st.sampled_from(Source),
)
micros = st.builds(
    Micro,
    subject_activation=st.sampled_from(Activation),
    relation_activation=st.sampled_from(Activation),
    trained=st.frozensets(st.sampled_from(sorted(ALL_WEIGHTS))),
)
architectures = st.builds(Architecture, macros, micros)
propagations = st.builds(
    Propagation,
    cell=architectures,
    aggregation=st.sampled_from(Aggregation),
    attention=st.sampled_from(Attention),
    relations=st.sampled_from(RelationVectors),
    update=st.sampled_from(Update),
    depth=st.integers(1, 3),
)
