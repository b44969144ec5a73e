"""Relation prediction as a second loss (Chen, Minervini, Riedel and Stenetorp 2021).

Beside the object of (s, r, ?), the relation of (s, ?, o) is predicted:

    L = CE(o | s, r) + λ · CE(r | s, o),    p(r′ | s, o) = softmax over r′ of v(s, r′) · o

for single triplets and both ways of a network, so that v · o is the logit that o has as the object
of (s, r′). All 2 · n_relations are candidates, inverses too: each triplet is learnt as (s, r, o)
and as (o, r⁻¹, s), which subject and object have to tell apart. The authors' program, whose
tables hold inverses as relations, does the same. There is no dropout in this loss.

No v is computed where the output is not gated: it is then linear in O_r, and there is a k with
v · o = O_r · k + c, of which the c cancels in the softmax. Where O_r in turn is neither gated nor
activated, it is linear in W_4 r′, and the logits of all relations are one product of matrices.
"""

import torch
from torch import Tensor

from interstellar.architecture.architecture import Activation, Combinator
from interstellar.model.combinators import adjoint
from interstellar.model.path_cell import PathCell, choose
from interstellar.model.path_network import PathNetwork
from interstellar.model.softmax_loss import cross_entropy

CPU_NUMBERS, CUDA_NUMBERS = 2**22, 2**26
"""Of a tensor that has rows, relations and dimensions, 16 MiB and 256 MiB."""


def add_relation_loss(
    network: PathNetwork,
    triplets: tuple[Tensor, Tensor, Tensor],
    weight: float,
    *,
    most_numbers: int | None = None,
) -> Tensor:
    """Add the gradient of λ · CE(r | s, o), summed over the rows; return what each row costs.

    Args:
        network: A two-way network.
        triplets: Subjects, relations and objects, (rows,) each.
        weight: λ.
        most_numbers: Rows are computed together as long as no tensor has more numbers.
    """
    subjects, relations, objects = triplets
    W_4_r = cell_of(network).link(4, network.relations)
    candidates = W_4_r.detach().requires_grad_()  # so that the parts share them
    n_rows = rows_at_once(network, most_numbers)
    losses = []
    for start in range(0, len(subjects), n_rows):
        part = slice(start, start + n_rows)
        logits = relation_logits(network, candidates, subjects[part], objects[part])
        with torch.no_grad():
            loss, gradient = cross_entropy(logits.detach(), relations[part])
        if logits.requires_grad:  # an output that is always zero has nothing behind it
            logits.backward(gradient.mul_(weight))  # type: ignore[no-untyped-call]
        losses.append(loss.mul_(weight))
    if candidates.grad is not None:
        W_4_r.backward(candidates.grad)  # type: ignore[no-untyped-call]
    return torch.cat(losses)


def rows_at_once(network: PathNetwork, most_numbers: int | None = None) -> int:
    """Return how many rows are computed together."""
    if most_numbers is None:
        most_numbers = CUDA_NUMBERS if network.device.type == "cuda" else CPU_NUMBERS
    n_candidates, dim = network.relations.shape
    n_numbers = n_candidates if is_linear(cell_of(network)) else 2 * n_candidates * dim
    return max(1, most_numbers // n_numbers)


def relation_logits(
    network: PathNetwork, W_4_r: Tensor, subjects: Tensor, objects: Tensor
) -> Tensor:
    """Return the logits of all relations between subjects and objects, (rows, 2 · n_relations).

    They are v · o up to a number for each row. W_4 r of all relations is (2 · n_relations, dim).
    """
    n = network.size.n_relations
    ids = torch.cat([subjects, objects])
    of_subjects, of_objects = network.look_up_entities(ids).chunk(2)
    O_s, S_s = of_subjects.chunk(2, dim=1)
    s = torch.stack([S_s, O_s])  # the second way reads the object table
    o = torch.stack(of_objects.chunk(2, dim=1))
    return cell_logits(cell_of(network), s, torch.stack([W_4_r, W_4_r.roll(n, 0)]), o)


def cell_logits(cell: PathCell, s: Tensor, W_4_r: Tensor, o: Tensor) -> Tensor:
    """Return v · o up to a number for each row, both ways added; h_0 = s.

    s and o are (2, rows, dim), W_4_r is (2, n_candidates, dim).
    """
    macro = cell.architecture.macro
    O_s = cell.subject_operator(cell.link(1, s), cell.link(2, s))
    x_r = cell.link(3, choose(macro.relation_source, s, s, O_s))
    x_v = cell.link(5, choose(macro.output_source, s, s, O_s))
    k = None
    if macro.output is not Combinator.GATED:
        k = through(cell, 6, adjoint(macro.output, x_v, o))
    if k is not None and is_linear(cell):
        k = adjoint(macro.relation, x_r, k)
        return torch.cat(k.unbind(), dim=1) @ torch.cat(W_4_r.unbind(), dim=1).T
    O_r = cell.relation_operator(None if x_r is None else x_r.unsqueeze(2), W_4_r.unsqueeze(1))
    # (2, rows, n_candidates, dim), or one row for all where x_r is zero
    if k is not None:
        return (O_r @ k.unsqueeze(3)).squeeze(3).sum(dim=0)
    v = cell.output_operator(None if x_v is None else x_v.unsqueeze(2), cell.link(6, O_r))
    return (v @ o.unsqueeze(3)).squeeze(3).sum(dim=0)


def is_linear(cell: PathCell) -> bool:
    """Return whether outputs are linear in W_4 r."""
    macro, micro = cell.architecture.macro, cell.architecture.micro
    is_gated = Combinator.GATED in (macro.relation, macro.output)
    return not is_gated and micro.relation_activation is Activation.IDENTITY


def through(cell: PathCell, i: int, k: Tensor) -> Tensor:
    """Return W_iᵀ k, for which W_i x · k = x · W_iᵀ k."""
    linear = cell.linear(i)
    return k if linear is None else k @ linear.weight


def cell_of(network: PathNetwork) -> PathCell:
    """Return the cell of a network, which is that of one architecture."""
    assert isinstance(network.cell, PathCell), "searches refuse to predict relations"
    return network.cell
