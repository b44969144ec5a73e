"""Find out which entities of two graphs mean the same, and write the pairs to a file."""

import sys
import tempfile
from pathlib import Path

import interstellar as ist

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())

# The geography, and the same in other words; every second country is known by both names.
geography = ist.load("geography-S3")
ours = [
    (row["subject"], row["relation"], row["object"]) for row in ist.to_frame(geography).to_pylist()
]
theirs = [(f"the {s}", f"is {r}", f"the {o}") for s, r, o in reversed(ours)]
names = sorted({s for s, _, _ in ours})
known = folder / "known.tsv"
known.write_text("".join(f"{name}\tthe {name}\n" for name in names[::2]), encoding="utf-8")

graph = ist.load(ours, second=theirs, pairs=known)
model = ist.train(graph, "RSN", dim=32, epochs=10, progress=False)
metrics = model.evaluate(decode="sinkhorn")
print(f"of {metrics['n']} pairs held out, {metrics['hits@1']:.0%} are found")

# What is below a threshold, chosen by validation, is left out: islands look much alike.
alignment = model.align(decode="sinkhorn", one_to_one=True, progress=False)
alignment.save(folder / "pairs.tsv")
new = [pair for pair in alignment.pairs if not pair.is_known]
right = sum(pair.target == f"the {pair.source}" for pair in new)
alone, _ = alignment.unmatched
print(f"{len(new)} new pairs, {right} of them right; {len(alone)} entities have no partner")
print(f"written to {folder / 'pairs.tsv'}")
