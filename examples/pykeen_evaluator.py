"""A data set of PyKEEN in, our network through PyKEEN's own evaluator out.

Needs the extra `pykeen`: pip install interstellar-kg[pykeen]
"""

from pykeen.datasets import Nations
from pykeen.evaluation import RankBasedEvaluator

import interstellar as ist
from interstellar.adapters.pykeen import to_factories

graph = ist.load(Nations())  # 14 countries and what they do to each other; comes with PyKEEN
model = ist.train(graph, "ComplEx", epochs=10, progress=False)

splits = to_factories(graph)
theirs = RankBasedEvaluator().evaluate(
    model=model.to_pykeen(),
    mapped_triples=splits.test.mapped_triples,
    additional_filter_triples=[splits.train.mapped_triples, splits.valid.mapped_triples],
    batch_size=64,
    use_tqdm=False,
)
ours = model.evaluate()
names = {"mrr": "inverse_harmonic_mean_rank", "hits@1": "hits_at_1", "hits@10": "hits_at_10"}
print("          ours   by PyKEEN's evaluator")
for name, their_name in names.items():
    print(f"{name:8}  {ours[name]:.4f} {theirs.get_metric(f'both.realistic.{their_name}'):.4f}")
