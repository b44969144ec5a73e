"""A cell whose thirteen choices are mixtures of options, for several networks at once.

The formula is that of `path_cell`, with every choice replaced by a weighted sum over the options
that are in play (`mixture`). With one-hot weights it computes what `PathCell` does, up to
rounding; where an option that a network does not take overflows, 0 · ∞ makes that network NaN.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import final, overload

import torch
from torch import Tensor

from interstellar.architecture.architecture import N_WEIGHTS, Combinator, Source
from interstellar.architecture.search_space import Option
from interstellar.model.mixed_operator import MixedGate, MixedOperator, mix_link
from interstellar.model.mixture import Mixture

COMBINATOR_CHOICES = {"s": "subject", "r": "relation", "v": "output"}
ACTIVATION_CHOICES = {"s": "subject_activation", "r": "relation_activation", "v": None}


@final
class MixedCell:
    """[v_t, h_t] = f(s_t, r_t, h_{t-1}) for several networks; holds no weights of its own."""

    def __init__(self, mixture: Mixture) -> None:
        options = mixture.options
        self.mixture = mixture
        self.links = frozenset(i for i in range(1, N_WEIGHTS + 1) if True in options[f"W_{i}"])
        """The i for which a trained W_i is in play."""
        self.gates = frozenset(
            name
            for name, choice in COMBINATOR_CHOICES.items()
            if Combinator.GATED in options[choice]
        )
        """The operators s, r, v for which gating is in play."""

    def unroll(self, weights: Mapping[str, Tensor], s: Tensor, r: Tensor, h_0: Tensor) -> Tensor:
        """Return v_1 … v_L, (n_networks, batch, length, dim), for whole paths.

        Args:
            weights: Named as the parameters of `CellWeights`, each with n_networks in front.
            s: Subjects along the paths, (n_networks, batch, length, dim).
            r: Relations along the paths, (n_networks, batch, length, dim).
            h_0: The state before the first step, (n_networks, batch, dim).
        """
        length = s.shape[2]
        unrolling = Unrolling(self, weights, length)
        v = unrolling.outputs(s.flatten(1, 2), r.flatten(1, 2), h_0)
        return v.view(s.shape)


@final
class Unrolling:
    """One pass over paths; holds what is the same for all of its steps.

    Tensors for all steps are (n_networks, batch · length, dim), the steps of a path one after
    the other.
    """

    def __init__(self, cell: MixedCell, weights: Mapping[str, Tensor], length: int) -> None:
        self.mixture = cell.mixture
        self.options = cell.mixture.options
        self.length = length
        self.links = {i: self.build_link(i, weights) for i in cell.links}
        gates = {name: build_gate(weights, f"gates.{name}") for name in cell.gates}
        self.O_s, self.O_r, self.O_v = (
            MixedOperator(cell.mixture, choice, ACTIVATION_CHOICES[name], gates.get(name))
            for name, choice in COMBINATOR_CHOICES.items()
        )

    def build_link(self, i: int, weights: Mapping[str, Tensor]) -> tuple[Tensor, Tensor | None]:
        """Return the matrix and the bias of W_i."""
        W, bias = weights[f"W.{i}.weight"], weights.get(f"W.{i}.bias")
        return mix_link(self.mixture, f"W_{i}", W, bias)

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
            h_prev = sources[Source.HIDDEN] = self.join([h_0, *self.split(O_r)[:-1]])
            if O_s is None and self.reads("output_source", Source.SUBJECT_OUTPUT):
                O_s = self.O_s.combine(self.link(1, s), self.link(2, h_prev))
        if O_s is not None:
            sources[Source.SUBJECT_OUTPUT] = O_s
        x_v = self.mix_sources("output_source", sources)
        return self.O_v.combine(self.link(5, x_v), self.link(6, O_r))

    def recur(self, s: Tensor, W_4_r: Tensor, h_0: Tensor) -> tuple[Tensor | None, Tensor]:
        """Return O_s, where O_r may read it, and O_r = h_t of all steps."""
        known_x = self.mix_sources("relation_source", {Source.SUBJECT: s})
        known_x_steps = None if known_x is None else self.split(known_x)
        relation_operator = self.prepare(self.O_r, W_4_r, is_first_known=False)
        subject_operator = None
        if self.reads("relation_source", Source.SUBJECT_OUTPUT):
            subject_operator = self.prepare(self.O_s, self.link(1, s), is_first_known=True)
        h_t, all_O_s, all_O_r = h_0, [], []
        for t in range(self.length):
            sources = {Source.HIDDEN: h_t}
            if subject_operator is not None:
                O_s = sources[Source.SUBJECT_OUTPUT] = subject_operator(t, self.link(2, h_t))
                all_O_s.append(O_s)
            onto = None if known_x_steps is None else known_x_steps[t]
            x_r = self.mix_sources("relation_source", sources, onto)
            assert x_r is not None, "what recurs reads h_{t-1} or O_s"
            h_t = relation_operator(t, self.link(3, x_r))
            all_O_r.append(h_t)
        return self.join(all_O_s) if all_O_s else None, self.join(all_O_r)

    def prepare(
        self, operator: MixedOperator, known: Tensor, *, is_first_known: bool
    ) -> Callable[[int, Tensor], Tensor]:
        """Return an operator one of whose inputs is known for all steps.

        It takes the step and the input that waits for the step before.
        """
        known_steps, gate = self.split(known), operator.gate
        gate_steps: Sequence[Tensor] = ()
        if gate is not None:
            gate_steps = self.split(gate.begin(known, is_first=is_first_known))

        def operate(t: int, waiting: Tensor) -> Tensor:
            a, b = (known_steps[t], waiting) if is_first_known else (waiting, known_steps[t])
            logit = None
            if gate is not None:
                logit = gate.add(gate_steps[t], waiting, is_first=not is_first_known)
            return operator.combine_gated(a, b, logit)

        return operate

    @overload
    def link(self, i: int, x: Tensor) -> Tensor: ...

    @overload
    def link(self, i: int, x: None) -> None: ...

    def link(self, i: int, x: Tensor | None) -> Tensor | None:
        """Return W_i x, mixed with x itself; W_i 0 = 0."""
        link = self.links.get(i)
        if x is None or link is None:
            return x
        W, bias = link
        if bias is None:
            return torch.bmm(x, W.mT)
        return torch.baddbmm(bias.unsqueeze(1), x, W.mT)

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

    def split(self, x: Tensor) -> Sequence[Tensor]:
        """Return the steps, (n_networks, batch, dim) each, of a tensor for all of them."""
        n_networks, rows, dim = x.shape
        return x.view(n_networks, rows // self.length, self.length, dim).unbind(2)

    def join(self, steps: Sequence[Tensor]) -> Tensor:
        """Return the tensor for all steps."""
        return torch.stack([*steps], dim=2).flatten(1, 2)


def build_gate(weights: Mapping[str, Tensor], name: str) -> MixedGate:
    """Return the gate of that name."""
    names = (f"{name}.W_a.weight", f"{name}.W_b.weight", f"{name}.W_b.bias")
    return MixedGate(*(weights[n] for n in names))
