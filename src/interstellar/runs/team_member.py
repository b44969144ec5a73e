"""A process that trains a network together with others, and follows the one that started it.

It reads one line of JSON, then does what the leader commands (`training/exchange.py`). It writes
nothing but a line that it is there, and a last one where something is wrong. When the leader ends,
however it ends, its input ends, and so does this process.
"""

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any, BinaryIO

import torch
import torch.distributed as dist

from interstellar.architecture.notation import read_architecture
from interstellar.device import is_out_of_memory
from interstellar.errors import InputError, InterstellarError
from interstellar.model.path_network import NetworkForm, NetworkSize
from interstellar.model.propagation_graph import PropagationGraph
from interstellar.model.propagation_layer import PropagationSize
from interstellar.model.propagation_network import PropagationNetwork
from interstellar.runs.experiment import Experiment, parse_experiment
from interstellar.runs.team import join
from interstellar.training import shard, split_batch
from interstellar.training.exchange import Exchange, follow
from interstellar.training.loop import initial_seed
from interstellar.training.sharded_state import shard_for


def serve(told: dict[str, Any]) -> None:
    """Follow the leader until it is done, or there is none any more."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C reaches the whole group; the leader decides
    threading.Thread(target=_end_with_leader, daemon=True).start()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what others print goes to standard error
    try:
        _serve(told, answers)
    except (InterstellarError, MemoryError, RuntimeError) as error:
        is_ours = isinstance(error, InterstellarError) or is_out_of_memory(error)
        if is_ours:  # else it has lost the others: the leader knows why
            said = {"error": _describe(error, told), "is_input": isinstance(error, InputError)}
            _say(answers, said)
        os._exit(1)


def _serve(told: dict[str, Any], answers: BinaryIO) -> None:
    number, experiment = told["number"], parse_experiment(told["experiment"])
    device = torch.device(told["device"])
    if device.type == "cuda":
        torch.cuda.set_device(number)
    _say(answers, {"number": number})
    exchange = join(number, told["n_processes"], Path(told["folder"]), device)
    facts = exchange.hear()
    if "triplets" in facts:
        follow(exchange, _share(exchange, experiment, facts), split_batch.COMMANDS)
    elif facts:
        follow(exchange, _shard(exchange, experiment, facts), shard.COMMANDS)
    dist.destroy_process_group()


def _shard(exchange: Exchange, experiment: Experiment, facts: dict[str, Any]) -> shard.Shard:
    settings, is_two_way = experiment.settings, facts["is_two_way"]
    size = NetworkSize(n_entities=facts["entities"], n_relations=0, dim=settings.dim)
    form = NetworkForm(has_batch_norm=False, is_two_way=is_two_way)
    generator = torch.Generator().manual_seed(initial_seed(experiment.seed))
    return shard_for(exchange, size, form, settings, generator)


def _share(
    exchange: Exchange, experiment: Experiment, facts: dict[str, Any]
) -> split_batch.BatchShare:
    paths, triplets = (
        exchange.share(torch.empty(facts[name], dtype=torch.int32, device=exchange.device))
        for name in ("paths", "triplets")
    )
    settings, n_relations = experiment.settings, facts["relations"]
    assert settings.propagation is not None
    graph = PropagationGraph(
        triplets.cpu().numpy(), n_entities=facts["entities"], n_relations=n_relations
    )
    network = PropagationNetwork(
        settings.propagation.of(read_architecture(experiment.architecture)),
        PropagationSize(n_relations=n_relations, dim=settings.dim),
        graph,
        settings.propagation.nodes,
    )
    return split_batch.share_for(exchange, network, paths, settings)


def _describe(error: BaseException, told: dict[str, Any]) -> str:
    if isinstance(error, InterstellarError):
        return str(error)
    return (
        f"the memory of process {told['number']} of {told['n_processes']} does not hold its part "
        "of this training. Lower the dimension or the batch size, or take more processes with more "
        "memory."
    )


def _say(answers: BinaryIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message).encode() + b"\n")
    answers.flush()


def _end_with_leader() -> None:
    while os.read(0, 1024):  # not by `sys.stdin`, whose lock would be missed at the end
        pass
    os._exit(1)
