"""Which options of each choice are in play, and how much of each a network takes.

A mixed cell computes every option that is in play and adds them up by weight: x = Σ w_k x_k. With
one-hot weights each network is one architecture; with softmax weights it is the relaxation of
DARTS. The weights are one tensor that is only ever changed in place, so that a captured CUDA
graph goes on reading it.
"""

from collections.abc import Mapping, Sequence
from typing import final

import torch
from torch import Tensor

from interstellar.architecture.architecture import Architecture, Source
from interstellar.architecture.search_space import Choice, Option, build, choices, take

SUBJECT_CHOICES = frozenset({"subject", "subject_activation", "W_1", "W_2"})
"""What makes up O_s."""

ALONE, OUT_OF_PLAY = -1, -2
"""In the place of a column: an option that weighs 1 as the only one, and one that weighs 0."""
MOST_OPTIONS = 4


@final
class Mixture:
    """The options in play for some networks, and their weights."""

    def __init__(
        self,
        in_play: Sequence[Choice],
        *,
        n_networks: int,
        device: torch.device,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        in_play = without_unread(in_play)
        self.options = {choice.name: choice.options for choice in in_play}
        self.n_networks = n_networks
        self.columns: dict[str, slice] = {}
        """Where the weights of a choice stand; only choices with more than one option have any."""
        n_columns = 0
        for name, options in self.options.items():
            if len(options) > 1:
                self.columns[name] = slice(n_columns, n_columns + len(options))
                n_columns += len(options)
        self.weights = torch.zeros(n_networks, n_columns, device=device, dtype=dtype)
        """(n_networks, n_columns)."""
        self.column_table = self._tabulate_columns(device)
        """Of each choice where the weights of all its options stand, for kernels, (4,)."""

    @torch.no_grad()
    def set_architectures(self, architectures: Sequence[Architecture]) -> None:
        """Make each network one architecture, by one-hot weights.

        An option that is not in play must be one that its architecture never uses; it weighs 0.
        """
        rows = []
        for architecture in architectures:
            taken = dict(zip(self.options, take(architecture), strict=True))
            rows.append(
                [float(o == taken[name]) for name in self.columns for o in self.options[name]]
            )
        self.weights.copy_(torch.tensor(rows).view(self.weights.shape))

    def heaviest(self, network: int = 0) -> Architecture:
        """Return the architecture of the options that weigh most in a network.

        A choice that nothing reads is shown with the first of all its options.
        """
        weights = self.weights[network].tolist()
        taken: list[Option] = []
        for choice in choices(Source, Source):
            options = self.options[choice.name] or choice.options
            of_options = weights[self.columns.get(choice.name, slice(0))] or [1.0]
            taken.append(options[of_options.index(max(of_options))])
        return build(taken)

    def weights_of(self, name: str) -> Mapping[Option, Tensor]:
        """Return the weight of each option, (n_networks, 1, 1), of a choice with several."""
        columns = self.weights[:, self.columns[name], None, None].unbind(1)
        return dict(zip(self.options[name], columns, strict=True))

    def mix(
        self, name: str, parts: Mapping[Option, Tensor], onto: Tensor | None = None
    ) -> Tensor | None:
        """Return the weighted sum of what options computed, (n_networks, rows, dim), plus `onto`.

        Options without a part contribute nothing; None where nothing contributes.
        """
        if name not in self.columns:
            return next(iter(parts.values()), None)
        weights = self.weights_of(name)
        mixed = onto
        for option, part in parts.items():
            weight = weights[option]
            mixed = part * weight if mixed is None else torch.addcmul(mixed, part, weight)
        return mixed

    def _tabulate_columns(self, device: torch.device) -> dict[str | None, Tensor]:
        every = choices(Source, Source)
        rows = [[self._column(choice, option) for option in choice.options] for choice in every]
        rows.append([ALONE])  # O_v has no choice of activation: it is always the identity
        padded = [row + [OUT_OF_PLAY] * (MOST_OPTIONS - len(row)) for row in rows]
        table = torch.tensor(padded, dtype=torch.int32, device=device)
        return dict(zip([*(choice.name for choice in every), None], table, strict=True))

    def _column(self, choice: Choice, option: Option) -> int:
        options, columns = self.options[choice.name], self.columns.get(choice.name)
        if option not in options:
            return OUT_OF_PLAY
        return ALONE if columns is None else int(columns.start) + options.index(option)


def options_of(architectures: Sequence[Architecture]) -> list[Choice]:
    """Return the thirteen choices with just the options that one of the architectures uses."""
    taken = [used_options(architecture) for architecture in architectures]
    return [
        Choice(
            choice.name,
            tuple(o for o in choice.options if any(used.get(choice.name) == o for used in taken)),
        )
        for choice in choices(Source, Source)
    ]


def used_options(architecture: Architecture) -> dict[str, Option]:
    """Return the option of each choice that has a part in what an architecture computes."""
    names = [choice.name for choice in choices(Source, Source)]
    used = dict(zip(names, take(architecture), strict=True))
    alone = [Choice(name, (option,)) for name, option in used.items()]
    return {choice.name: choice.options[0] for choice in without_unread(alone) if choice.options}


def without_unread(in_play: Sequence[Choice]) -> list[Choice]:
    """Return the choices, without options where no source in play reads what they make up."""
    options = {choice.name: choice.options for choice in in_play}
    sources = {*options["relation_source"], *options["output_source"]}
    unread: set[str] = set()
    if Source.SUBJECT_OUTPUT not in sources:
        unread |= SUBJECT_CHOICES
    if options["relation_source"] == (Source.ZERO,):
        unread |= {"W_3"}
    if options["output_source"] == (Source.ZERO,):
        unread |= {"W_5"}
    return [Choice(c.name, () if c.name in unread else c.options) for c in in_play]
