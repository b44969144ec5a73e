"""Use what was learnt from a graph as features: guess the continent from the borders.

The network sees only which countries are neighbours. A classifier of scikit-learn reads its
vectors and must say on which continent a country lies.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

import interstellar as ist

rows = ist.to_frame(ist.load("geography-S1")).to_pylist()
borders = [(r["subject"], "neighbor", r["object"]) for r in rows if r["relation"] == "neighbor"]
regions = {r["subject"]: r["object"] for r in rows if r["relation"] == "locatedin"}
continents = {s: regions.get(o, o) for s, o in regions.items()}

model = ist.train(ist.load(borders), "PTransE-add", epochs=20, progress=False)
file = Path(tempfile.mkdtemp()) / "vectors.parquet"
model.export(file)

vectors = pq.read_table(file, filters=[("table", "=", "subjects")]).to_pylist()
countries = [row for row in vectors if row["name"] in continents]
X = np.array([row["vector"] for row in countries])
y = np.array([continents[row["name"]] for row in countries])

classifier = KNeighborsClassifier(n_neighbors=3, metric="cosine")
accuracy = cross_val_score(classifier, X, y, cv=KFold(4, shuffle=True, random_state=0)).mean()
guess = max(np.mean(y == continent) for continent in set(y))
print(f"{len(y)} countries, vectors of {X.shape[1]} numbers")
print(f"continent right, from borders alone: {accuracy:.0%}")
print(f"continent right, always the most frequent one: {guess:.0%}")
