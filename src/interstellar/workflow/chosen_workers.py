"""Where the trials of a search run, as the user said or as the budget and the machine suggest."""

import torch

from interstellar.data.graph import AnyGraph
from interstellar.device import find_device
from interstellar.engine.engine import EngineKind
from interstellar.engine.local_processes import count_cores
from interstellar.engine.ray_cluster import RayCluster, join_cluster, share_of
from interstellar.errors import SettingsError
from interstellar.runs.search_plan import Budget
from interstellar.searching.workers import Workers
from interstellar.workflow.audience import Audience, tell
from interstellar.workflow.given import count_triplets

MOST_WORKERS = 8
LEAST_SECONDS = 60.0
"""With less time than that, workers would take too much of it until they are ready."""
WORKERS_ON_A_CARD, MORE_WORKERS, SMALL_TRIPLETS = 2, 4, 30_000
"""Two hide each other's setting up and validating. With fewer triplets that is most of the time, so
there are more; but eight are no faster than four."""
RAY_LISTENS = (
    "note: the Ray cluster that is started for this listens on all network interfaces; its token "
    "keeps others out (docs/howto/on_a_cluster.md: who can reach it)."
)


def choose_workers(
    graph: AnyGraph,
    device: str | torch.device,
    budget: Budget,
    audience: Audience,
    *,
    n: int | None = None,
    engine: EngineKind | str = EngineKind.LOCAL,
    ray_address: str | None = None,
) -> Workers:
    """Return where trials run: with a limit of time as many at once as gain from it.

    With a limit of trials alone it is one, so that the same seed gives the same search; and where
    there is little time. On a Ray cluster, which is joined here, it is all that there is room for.
    """
    found = find_device(str(device))
    match read_engine(engine):
        case EngineKind.RAY:
            cluster = join_cluster(ray_address)
            if cluster.is_joined and ray_address is None:
                tell(audience, RAY_LISTENS)
            return workers_on(cluster, found, n, graph)
        case EngineKind.LOCAL if ray_address is not None:
            raise SettingsError(
                f"the address {ray_address!r} of a Ray cluster was given, but the engine is local. "
                "Choose the engine ray, or leave the address out."
            )
        case EngineKind.LOCAL:
            pass
    if n is None and (budget.seconds is None or budget.seconds < LEAST_SECONDS):
        n = 1
    elif n is None and found.type == "cuda":
        n = torch.cuda.device_count() if found.index is None else 1
        n *= workers_on_a_card(graph)
    return Workers(device=found, n=n or min(MOST_WORKERS, count_cores()))


def read_engine(name: EngineKind | str) -> EngineKind:
    """Return the engine of that name."""
    try:
        return EngineKind(name)
    except ValueError:
        known = " or ".join(EngineKind)
        raise SettingsError(f"the engine {name!r} is unknown. Choose {known}.") from None


def workers_on(
    cluster: RayCluster, device: torch.device, n: int | None, graph: AnyGraph
) -> Workers:
    """Return so many workers on a cluster, or as many as there is room for."""
    most = cluster.n_cpus if device.type == "cpu" else cluster.n_gpus * workers_on_a_card(graph)
    workers = Workers(device=device, n=n or max(1, most), cluster=cluster)
    try:
        share_of(cluster, str(device), workers.n)
    except SettingsError:
        cluster.leave()
        raise
    return workers


def workers_on_a_card(graph: AnyGraph) -> int:
    """Return how many workers keep a card busy."""
    return MORE_WORKERS if count_triplets(graph) < SMALL_TRIPLETS else WORKERS_ON_A_CARD
