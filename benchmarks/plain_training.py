"""Link prediction as one writes it down first: the baseline of `benchmarks/step.py` on the CPU.

The same network and loss as ours, in plain eager torch: an embedding module per table, one call
of the cell a step, two passes, cross-entropy of all steps, Adam over all parameters, projection.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from interstellar.architecture.architecture import Architecture
from interstellar.model.path_cell import CellWeights, PathCell
from interstellar.model.path_network import NetworkSize
from interstellar.training.settings import TrainingSettings


class PlainNetwork(nn.Module):
    """Two entity tables, a relation table, a cell."""

    def __init__(self, architecture: Architecture, size: NetworkSize) -> None:
        super().__init__()
        self.size = size
        self.subjects = nn.Embedding(size.n_entities, size.dim)
        self.objects = nn.Embedding(size.n_entities, size.dim)
        self.relations = nn.Embedding(2 * size.n_relations, size.dim)
        self.cell = PathCell(architecture, CellWeights.of(architecture, size.dim))
        for table in (self.subjects, self.objects, self.relations):
            nn.init.xavier_uniform_(table.weight)

    def loss(self, paths: Tensor) -> Tensor:
        """Return the cross-entropy of all steps."""
        n = self.size.n_relations
        forward, back = [], []
        h, h_back = self.subjects(paths[:, 0]), self.objects(paths[:, 0])
        for t in range(0, paths.shape[1] - 1, 2):
            s, r, o = paths[:, t], paths[:, t + 1], paths[:, t + 2]
            inverse = torch.where(r < n, r + n, r - n)
            v, h = self.cell.step(self.subjects(s), self.relations(r), h)
            v_back, h_back = self.cell.step(self.objects(s), self.relations(inverse), h_back)
            logits = v @ self.objects.weight.T + v_back @ self.subjects.weight.T
            forward.append(logits)
            back.append(o)
        return functional.cross_entropy(torch.cat(forward), torch.cat(back))


def train_plain_epoch(
    network: PlainNetwork, optimiser: torch.optim.Adam, paths: Tensor, settings: TrainingSettings
) -> None:
    """Train one epoch."""
    for part in torch.split(torch.randperm(len(paths)), settings.batch_size):
        optimiser.zero_grad()
        network.loss(paths[part]).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        with torch.no_grad():
            for table in (network.subjects.weight, network.objects.weight):
                table.copy_(torch.renorm(table, 2, 0, 1.0))
