"""The networks there are: along sampled paths, along all paths at once, or of a rival."""

from typing import TypeAlias

from interstellar.model.path_network import PathNetwork
from interstellar.model.propagation_network import PropagationNetwork
from interstellar.rivals.building import RivalNetwork
from interstellar.rivals.triplet_network import TripletNetwork

Network: TypeAlias = PathNetwork | PropagationNetwork | RivalNetwork
"""All are asked by `logits`, set up by `initialise`, and know their `device` and `formula`."""


def for_many(network: Network) -> Network:
    """Return a network that answers the same, set up for many queries with the same weights."""
    return network.encoded() if isinstance(network, TripletNetwork) else network
