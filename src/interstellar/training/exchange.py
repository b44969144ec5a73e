"""What processes that train one network together say to each other.

One of them leads, process 0. Each holds an object that does the work. The leader calls a command,
a method of that object, by `Crew.do`; the others hear of it in `follow`, with everything it is
given. Then all carry it out at once, and meet where tensors are added up, gathered or collected.
Commands are JSON and tensors, never pickles.
"""

import json
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, final

import torch
import torch.distributed as dist
from torch import Tensor

MESSAGE_BYTES = 1024
"""All messages are as long, so that none needs another to say its length."""
DTYPES = {str(t): t for t in (torch.float32, torch.int32, torch.int64, torch.uint8)}

Guard: TypeAlias = Callable[[], AbstractContextManager[None]]
"""In which the leader carries out a command."""
P = ParamSpec("P")
R = TypeVar("R")


@final
class Exchange:
    """The place of this process among all, and the tensors that they exchange."""

    def __init__(self, device: torch.device, guard: Guard = nullcontext) -> None:
        """Take the place in the group of processes, which has been joined already."""
        self.device = device
        self.guard = guard
        self.number = dist.get_rank()
        self.n_processes = dist.get_world_size()

    @property
    def is_leader(self) -> bool:
        return self.number == 0

    def rows_of(self, number: int, n_rows: int) -> range:
        """Return the rows of a table that a process holds, a block of n_rows / n_processes."""
        starts = (n_rows * i // self.n_processes for i in (number, number + 1))
        return range(*starts)

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message to all others; only the leader does."""
        content = json.dumps(message).encode()
        assert len(content) <= MESSAGE_BYTES
        dist.broadcast(
            torch.frombuffer(bytearray(content.ljust(MESSAGE_BYTES)), dtype=torch.uint8), 0
        )

    def hear(self) -> dict[str, Any]:
        """Return the leader's next message."""
        content = torch.empty(MESSAGE_BYTES, dtype=torch.uint8)
        dist.broadcast(content, 0)
        message: dict[str, Any] = json.loads(bytes(content.numpy()))
        return message

    def share(self, tensor: Tensor) -> Tensor:
        """Return the tensor that the leader has, which overwrites that of all others."""
        tensor = tensor.contiguous()
        dist.broadcast(tensor, 0)
        return tensor

    def add_up(self, tensor: Tensor) -> Tensor:
        """Replace the leader's tensor by the sum over all processes, and return it."""
        dist.reduce(tensor, 0)
        return tensor

    def least(self, number: int) -> int:
        """Return the least of the numbers that processes give."""
        least = torch.tensor(number, device=self.device)
        dist.all_reduce(least, dist.ReduceOp.MIN)
        return int(least)

    def gather(self, tensor: Tensor) -> Tensor:
        """Return the tensors of all processes, (n_processes, …)."""
        gathered = tensor.new_empty(self.n_processes, *tensor.shape)
        dist.all_gather(list(gathered.unbind()), tensor.contiguous())
        return gathered

    def collect(self, tensor: Tensor, places: Sequence[Tensor]) -> None:
        """Put the tensor of each process into its place, all of which the leader has."""
        if not self.is_leader:
            dist.send(tensor.contiguous(), 0)
            return
        places[0].copy_(tensor)
        for number, place in enumerate(places[1:], start=1):
            received = torch.empty(place.shape, dtype=place.dtype, device=place.device)
            dist.recv(received, number)
            place.copy_(received)


@final
class Crew:
    """All processes, as the leader commands them."""

    def __init__(self, exchange: Exchange, work: object) -> None:
        """Command all; `work` is what this process holds."""
        self._exchange = exchange
        self._work = work
        self._lock = threading.RLock()
        self.is_whole = True
        """Whether every command was carried out to its end; if not, no other can be."""

    def do(self, command: Callable[Concatenate[Any, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Carry out a command everywhere, and return what it gives here.

        Tensors are given by position, and plain values by name.
        """
        with self._lock, self._exchange.guard():
            assert self.is_whole
            self.is_whole = False
            tensors = [self._prepare(tensor) for tensor in args]
            told = [(list(tensor.shape), str(tensor.dtype)) for tensor in tensors]
            self._exchange.tell({"do": command.__name__, "tensors": told, "values": kwargs})
            shared: Any = [self._exchange.share(tensor) for tensor in tensors]
            result = command(self._work, *shared, **kwargs)
            self.is_whole = True
            return result

    def _prepare(self, tensor: object) -> Tensor:
        assert isinstance(tensor, Tensor)
        return tensor.detach().to(self._exchange.device)


def follow(exchange: Exchange, work: object, commands: Sequence[Callable[..., object]]) -> None:
    """Carry out some methods of an object as the leader commands, until it is done."""
    by_name = {command.__name__: command for command in commands}
    while message := exchange.hear():
        tensors = [
            exchange.share(torch.empty(shape, dtype=DTYPES[dtype], device=exchange.device))
            for shape, dtype in message["tensors"]
        ]
        by_name[message["do"]](work, *tensors, **message["values"])


@final
class Interrupts:
    """Lets a command end before Ctrl-C or SIGTERM take effect: half of one would be lost on all."""

    def __init__(self) -> None:
        self._n_inside = 0
        self._waiting: Callable[[], object] | None = None

    @contextmanager
    def handled(self) -> Iterator[None]:
        """See to the signals that are handled here in Python, and only in its main thread."""
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        if threading.current_thread() is not threading.main_thread():
            before = {}
        handled = {number: handler for number, handler in before.items() if callable(handler)}
        for number, handler in handled.items():
            signal.signal(number, self._wrap(handler))
        try:
            yield
        finally:
            for number, handler in handled.items():
                signal.signal(number, handler)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Let what is done inside end first."""
        self._n_inside += 1
        try:
            yield
        finally:
            self._n_inside -= 1
        if self._waiting is not None and not self._n_inside:
            interrupt, self._waiting = self._waiting, None
            interrupt()

    def _wrap(
        self, handler: Callable[[int, FrameType | None], object]
    ) -> Callable[[int, FrameType | None], None]:
        def handle(number: int, frame: FrameType | None) -> None:
            if self._n_inside and self._waiting is None:
                self._waiting = lambda: handler(number, None)
            else:  # nothing is under way, or it is asked for again
                handler(number, frame)

        return handle
