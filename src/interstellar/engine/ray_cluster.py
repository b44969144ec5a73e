"""A Ray cluster: one that runs already, or one of this machine that is started for a search.

Ray is the extra `ray`, and imported only here and in `ray_tasks.py`. Of its processes only those
of a cluster that was started here are ever ended, by Ray itself.
"""

import math
import os
import platform
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from interstellar.errors import InterstellarError, SettingsError

DISTRIBUTIONS = ("interstellar-kg", "torch", "ray")
CONNECT_SECONDS, CHECK_SECONDS = 5.0, 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RayCluster:
    """A cluster that this process takes part in."""

    n_cpus: int
    n_gpus: int
    is_joined: bool
    """Whether this process has joined it for the search, and leaves it afterwards."""
    address: str | None = None
    """Where it is; None: it was started on this machine."""

    def join_again(self) -> None:
        """Take part in it where it was left, as between the two searches of a study."""
        import ray  # noqa: PLC0415

        if self.is_joined and not ray.is_initialized():
            _join(self.address)

    def leave(self) -> None:
        """Part from the cluster; one that was started for the search ends."""
        if self.is_joined:
            import ray  # noqa: PLC0415

            ray.shutdown()
            let_ray_print(is_allowed=True)


def join_cluster(address: str | None = None) -> RayCluster:
    """Return the cluster at an address, `auto` or host:port, or one started on this machine.

    Where this process takes part in one already, it is that. All its machines must have the same
    versions as this one.
    """
    if find_spec("ray") is None:
        raise SettingsError(
            "the engine ray needs Ray, which is not installed. Install it with "
            "`pip install 'interstellar-kg[ray]'`, or use the engine local."
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # and warn of what it will do
    import ray  # noqa: PLC0415

    is_joined = not ray.is_initialized()
    if is_joined:
        _join(address)
    try:
        refuse_other_versions(facts_of_nodes(), facts_here())
        found = ray.cluster_resources()  # type: ignore[no-untyped-call]
    except BaseException:
        if is_joined:
            ray.shutdown()
            let_ray_print(is_allowed=True)
        raise
    return RayCluster(
        n_cpus=int(found.get("CPU", 0)),
        n_gpus=int(found.get("GPU", 0)),
        is_joined=is_joined,
        address=address,
    )


def share_of(cluster: RayCluster, device: str, n_workers: int) -> dict[str, float]:
    """Return what of the cluster each of so many pieces takes."""
    if device == "cpu":
        if n_workers > cluster.n_cpus:
            raise SettingsError(
                f"{n_workers} workers were asked for, and the Ray cluster has {cluster.n_cpus} "
                "cores. Ask for no more than that, or add machines."
            )
        return {"num_cpus": 1}
    if device != "cuda":
        raise SettingsError(
            f"device {device!r} was asked for, but Ray itself chooses the GPU of each trial. "
            "Choose cuda."
        )
    if cluster.n_gpus == 0:
        raise SettingsError(
            f"device {device!r} was asked for, but the Ray cluster has no GPU. Choose cpu, or "
            "start its machines with `--num-gpus`."
        )
    return {"num_cpus": 0, "num_gpus": 1 / math.ceil(n_workers / cluster.n_gpus)}


def facts_here() -> dict[str, str]:
    """Return what must be the same on all machines."""
    return {"Python": platform.python_version(), **{n: version(n) for n in DISTRIBUTIONS}}


def facts_of_nodes() -> dict[str, dict[str, str] | str]:
    """Return the facts of each machine of the cluster by its address, or why it has none."""
    import ray  # noqa: PLC0415
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415

    task = ray.remote(num_cpus=0, max_retries=2)(facts_here)
    asked = {}
    nodes = ray.nodes()  # type: ignore[no-untyped-call]
    for node in (node for node in nodes if node["Alive"]):
        place = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        asked[node["NodeManagerAddress"]] = task.options(scheduling_strategy=place).remote()
    found: dict[str, dict[str, str] | str] = {}
    for address, ref in asked.items():
        try:
            found[address] = ray.get(ref, timeout=CHECK_SECONDS)
        except Exception as error:
            found[address] = str(error).strip().splitlines()[-1]
    return found


def refuse_other_versions(
    facts_by_node: Mapping[str, Mapping[str, str] | str], here: Mapping[str, str]
) -> None:
    """Raise where a machine has other versions than this one, or could not say which."""
    remedy = "Install there what is here, in the Python that runs Ray, or leave that machine out."
    for address, facts in facts_by_node.items():
        if isinstance(facts, str):
            raise SettingsError(
                f"the machine {address} of the Ray cluster cannot run Interstellar ({facts}). "
                + remedy
            )
        for name, ours in here.items():
            if facts.get(name) != ours:
                raise SettingsError(
                    f"the machine {address} of the Ray cluster has {name} {facts.get(name)}, and "
                    f"here it is {ours}: they must be the same. {remedy}"
                )


def let_ray_print(*, is_allowed: bool) -> None:
    """Say whether Ray may print what happens in its cluster to standard output.

    That is where the answer of a command stands, and nothing else. What a search has to know of a
    machine that dies it is told otherwise. Ray has no switch for it that is its users'.
    """
    from ray._private import worker  # noqa: PLC0415

    worker._worker_logs_enabled = is_allowed


def _join(address: str | None) -> None:
    """Join the cluster at an address, or start one."""
    import ray  # noqa: PLC0415

    let_ray_print(is_allowed=False)
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if address is None:
        try:
            ray.init(address="local", include_dashboard=False, **quiet)
        except Exception as error:
            raise InterstellarError(
                f"Ray could not be started on this machine ({_first_line(error)}). Use the engine "
                "local, or start a cluster with `ray start --head` and give --ray-address auto."
            ) from error
        return
    remedy = "Start one with `ray start --head`, or leave the address out for one of this machine."
    if address != "auto":
        refuse_silent_address(address)
    try:
        ray.init(address=address, **quiet)
    except (Exception, SystemExit) as error:  # Ray asks the process to exit where it has no answer
        with suppress(Exception):
            ray.shutdown()
        raise SettingsError(
            f"the Ray cluster at {address!r} cannot be joined ({_first_line(error)}). {remedy}"
        ) from error


def refuse_silent_address(address: str) -> None:
    """Raise where nobody listens at host:port; Ray itself would try for more than a minute."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise SettingsError(
            f"the address of a Ray cluster is {address!r}, but it must be auto or host:port, such "
            "as 10.0.0.1:6379."
        )
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except OSError as error:
        raise SettingsError(
            f"no Ray cluster answers at {address} ({error.strerror or error}). Start one with "
            "`ray start --head`, or leave the address out for one of this machine."
        ) from None


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
