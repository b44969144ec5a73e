"""The sets that come with this package: geography and synthetic graphs."""

from interstellar.data.geography import GEOGRAPHY_NAMES, parse_geography
from interstellar.data.graph import AnyGraph
from interstellar.data.named_set import BuiltInSet, Task
from interstellar.data.synthetic import GRAPH_NAME, PAIR_NAME, is_synthetic, parse_synthetic

_GEOGRAPHY_SETS = tuple(
    BuiltInSet(
        name=name,
        task=Task.LINK_PREDICTION,
        description="Countries and their neighbours, made after the Countries sets",
    )
    for name in GEOGRAPHY_NAMES
)

BUILT_IN_SETS = (
    *_GEOGRAPHY_SETS,
    BuiltInSet(
        name=GRAPH_NAME,
        task=Task.LINK_PREDICTION,
        description="Planted rules; size and seed as in synthetic:entities=1000,seed=3",
    ),
    BuiltInSet(
        name=PAIR_NAME,
        task=Task.ENTITY_ALIGNMENT,
        description="Two views of a synthetic graph; size and seed likewise",
    ),
)


def is_builtin(name: str) -> bool:
    """Return whether a name, in any case, is that of a built-in set."""
    return is_synthetic(name) or name.strip().lower() in map(str.lower, GEOGRAPHY_NAMES)


def build_builtin(name: str) -> AnyGraph:
    """Return the built-in set of that name, made as the settings in it say."""
    return parse_synthetic(name) if is_synthetic(name) else parse_geography(name)
