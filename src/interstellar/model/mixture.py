"""Which options of each choice are in play, and how much of each a shared cell takes.

Every option that is in play is computed, and they are added up by weight: x = Σ w_k x_k. With
one-hot weights the cell is one architecture; with softmax weights it is the relaxation of DARTS.
The weights are one tensor that is only ever changed in place, so that a captured CUDA graph goes on
reading it.
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
    """The options in play, and their weights."""

    def __init__(
        self,
        in_play: Sequence[Choice],
        *,
        device: torch.device,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        in_play = without_unread(in_play)
        self.options = {choice.name: choice.options for choice in in_play}
        self.columns: dict[str, slice] = {}
        """Where the weights of a choice stand; only choices with more than one option have any."""
        n_columns = 0
        for name, options in self.options.items():
            if len(options) > 1:
                self.columns[name] = slice(n_columns, n_columns + len(options))
                n_columns += len(options)
        self.weights = torch.zeros(n_columns, device=device, dtype=dtype)
        self.column_table = self._tabulate_columns(device)
        """Of each choice where the weights of all its options stand, for kernels, (4,)."""

    @torch.no_grad()
    def set_architecture(self, architecture: Architecture) -> None:
        """Make it one architecture, by one-hot weights.

        An option that is not in play must be one that the architecture never uses; it weighs 0.
        """
        taken = dict(zip(self.options, take(architecture), strict=True))
        row = [float(o == taken[name]) for name in self.columns for o in self.options[name]]
        self.weights.copy_(torch.tensor(row))

    def heaviest(self) -> Architecture:
        """Return the architecture of the options that weigh most.

        A choice that nothing reads is shown with the first of all its options.
        """
        weights = self.weights.tolist()
        taken: list[Option] = []
        for choice in choices(Source, Source):
            options = self.options[choice.name] or choice.options
            of_options = weights[self.columns.get(choice.name, slice(0))] or [1.0]
            taken.append(options[of_options.index(max(of_options))])
        return build(taken)

    def weights_of(self, name: str) -> Mapping[Option, Tensor]:
        """Return the weight of each option of a choice with several."""
        return dict(zip(self.options[name], self.weights[self.columns[name]].unbind(), strict=True))

    def mix(
        self, name: str, parts: Mapping[Option, Tensor], onto: Tensor | None = None
    ) -> Tensor | None:
        """Return the weighted sum of what options computed, plus `onto`.

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
