"""The cell of a supernet: all architectures of a space over one set of weights.

The formula is that of `path_cell`, with every choice replaced by a weighted sum over the options
that are in play (`mixture`). With one-hot weights it computes what `PathCell` does, up to
rounding; where an option that is not taken overflows, 0 · ∞ makes it NaN.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import final, overload

import torch
from torch import Tensor, nn
from torch.nn import functional

from interstellar.architecture.architecture import N_WEIGHTS, Architecture, Combinator, Source
from interstellar.architecture.search_space import Choice, Option
from interstellar.model.combinators import Gate
from interstellar.model.mixed_operator import MixedOperator, mix_link
from interstellar.model.mixture import Mixture
from interstellar.model.path_cell import CellWeights

COMBINATOR_CHOICES = {"s": "subject", "r": "relation", "v": "output"}
ACTIVATION_CHOICES = {"s": "subject_activation", "r": "relation_activation", "v": None}


@final
class SharedCell(nn.Module):
    """[v_t, h_t] = f(s_t, r_t, h_{t-1}) of a mixture; stands where a `PathCell` does."""

    def __init__(self, in_play: Sequence[Choice], dim: int, device: torch.device) -> None:
        super().__init__()
        self.mixture = Mixture(in_play, device=device)
        options = self.mixture.options
        links = frozenset(i for i in range(1, N_WEIGHTS + 1) if True in options[f"W_{i}"])
        gates = frozenset(
            name
            for name, choice in COMBINATOR_CHOICES.items()
            if Combinator.GATED in options[choice]
        )
        self.weights = CellWeights(dim, links=links, gates=gates)

    @property
    def architecture(self) -> Architecture:
        """The architecture whose options weigh most at the moment."""
        return self.mixture.heaviest()

    def unroll(self, s: Tensor, r: Tensor, h_0: Tensor) -> Tensor:
        """Return v_1 … v_L for whole paths; s and r are (batch, length, dim), h_0 (batch, dim)."""
        return Unrolling(self).outputs(s, r, h_0)


@final
class Unrolling:
    """One pass over paths; holds what is the same for all of its steps."""

    def __init__(self, cell: SharedCell) -> None:
        self.mixture = cell.mixture
        self.options = cell.mixture.options
        self.links = {i: mix_link(cell.mixture, f"W_{i}", W) for i, W in cell.weights.W.items()}
        gates = {name: gate for name, gate in cell.weights.gates.items() if isinstance(gate, Gate)}
        self.O_s, self.O_r, self.O_v = (
            MixedOperator(cell.mixture, choice, ACTIVATION_CHOICES[name], gates.get(name))
            for name, choice in COMBINATOR_CHOICES.items()
        )

    def outputs(self, s: Tensor, r: Tensor, h_0: Tensor) -> Tensor:
        """Return v of all steps; only what truly reads h_{t-1} is done step by step."""
        W_4_r = self.link(4, r)
        if self.reads("relation_source", Source.HIDDEN, Source.SUBJECT_OUTPUT):
            O_s, O_r = self.recur(s, W_4_r, h_0)
        else:
            x_r = self.mix_sources("relation_source", {Source.SUBJECT: s})
            O_s, O_r = None, self.O_r.combine(self.link(3, x_r), W_4_r)
        sources = {Source.SUBJECT: s}
        if self.reads("output_source", Source.HIDDEN, Source.SUBJECT_OUTPUT):
            h_prev = sources[Source.HIDDEN] = torch.cat([h_0.unsqueeze(1), O_r[:, :-1]], dim=1)
            if O_s is None and self.reads("output_source", Source.SUBJECT_OUTPUT):
                O_s = self.O_s.combine(self.link(1, s), self.link(2, h_prev))
        if O_s is not None:
            sources[Source.SUBJECT_OUTPUT] = O_s
        x_v = self.mix_sources("output_source", sources)
        return self.O_v.combine(self.link(5, x_v), self.link(6, O_r))

    def recur(self, s: Tensor, W_4_r: Tensor, h_0: Tensor) -> tuple[Tensor | None, Tensor]:
        """Return O_s, where O_r may read it, and O_r = h_t of all steps."""
        known_x = self.mix_sources("relation_source", {Source.SUBJECT: s})
        known_x_steps = None if known_x is None else known_x.unbind(1)
        relation_operator = prepare(self.O_r, W_4_r, is_first_known=False)
        subject_operator = None
        if self.reads("relation_source", Source.SUBJECT_OUTPUT):
            subject_operator = prepare(self.O_s, self.link(1, s), is_first_known=True)
        h_t, all_O_s, all_O_r = h_0, [], []
        for t in range(W_4_r.shape[1]):
            sources = {Source.HIDDEN: h_t}
            if subject_operator is not None:
                O_s = sources[Source.SUBJECT_OUTPUT] = subject_operator(t, self.link(2, h_t))
                all_O_s.append(O_s)
            onto = None if known_x_steps is None else known_x_steps[t]
            x_r = self.mix_sources("relation_source", sources, onto)
            assert x_r is not None, "what recurs reads h_{t-1} or O_s"
            h_t = relation_operator(t, self.link(3, x_r))
            all_O_r.append(h_t)
        return torch.stack(all_O_s, dim=1) if all_O_s else None, torch.stack(all_O_r, dim=1)

    @overload
    def link(self, i: int, x: Tensor) -> Tensor: ...

    @overload
    def link(self, i: int, x: None) -> None: ...

    def link(self, i: int, x: Tensor | None) -> Tensor | None:
        """Return W_i x, mixed with x itself; W_i 0 = 0."""
        link = self.links.get(str(i))
        return x if x is None or link is None else functional.linear(x, *link)

    def mix_sources(
        self, choice: str, sources: Mapping[Source, Tensor], onto: Tensor | None = None
    ) -> Tensor | None:
        """Return the weighted sum of those sources that are in play; None is the zero vector."""
        in_play: dict[Option, Tensor] = {
            source: x for source, x in sources.items() if source in self.options[choice]
        }
        return self.mixture.mix(choice, in_play, onto)

    def reads(self, choice: str, *sources: Source) -> bool:
        """Return whether one of the sources is in play."""
        return any(source in self.options[choice] for source in sources)


def prepare(
    operator: MixedOperator, known: Tensor, *, is_first_known: bool
) -> Callable[[int, Tensor], Tensor]:
    """Return an operator one of whose inputs is known for all steps.

    It takes the step and the input that waits for the step before.
    """
    known_steps, gate = known.unbind(1), operator.gate
    if gate is None:

        def operate(t: int, waiting: Tensor) -> Tensor:
            a, b = (known_steps[t], waiting) if is_first_known else (waiting, known_steps[t])
            return operator.combine_gated(a, b, None)

        return operate
    of_known, of_waiting = (gate.W_a, gate.W_b) if is_first_known else (gate.W_b, gate.W_a)
    gate_known: Tensor = of_known(known)
    gate_steps = gate_known.unbind(1)

    def operate_gated(t: int, waiting: Tensor) -> Tensor:
        a, b = (known_steps[t], waiting) if is_first_known else (waiting, known_steps[t])
        return operator.combine_gated(a, b, gate_steps[t] + of_waiting(waiting))

    return operate_gated
