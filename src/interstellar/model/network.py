"""The networks there are: along sampled paths, or along all paths at once."""

from typing import TypeAlias

from interstellar.model.path_network import PathNetwork
from interstellar.model.propagation_network import PropagationNetwork

Network: TypeAlias = PathNetwork | PropagationNetwork
"""Both are asked by `logits`, set up by `initialise`, and know their `device` and `formula`."""
