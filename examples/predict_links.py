"""Find facts that are missing from a list of triplets.

Twelve capitals, and where eleven of them lie. Where does Vienna lie?
"""

import interstellar as ist

COUNTRY = {
    "paris": "france",
    "madrid": "spain",
    "lisbon": "portugal",
    "berlin": "germany",
    "rome": "italy",
    "vienna": "austria",
    "tokyo": "japan",
    "seoul": "south korea",
    "beijing": "china",
    "hanoi": "vietnam",
    "vientiane": "laos",
    "bangkok": "thailand",
}
EUROPE = ["france", "spain", "portugal", "germany", "italy", "austria"]

triplets = []
for city, country in COUNTRY.items():
    continent = "europe" if country in EUROPE else "asia"
    triplets += [(city, "capital_of", country), (country, "part_of", continent)]
    if city != "vienna":
        triplets.append((city, "located_in", continent))

# A pandas frame or a file would do as well: `ist.load(frame)`, `ist.load("facts.csv")`.
graph = ist.load(triplets, split=ist.SplitShares(train=0.9, valid=0.1, test=0.0), seed=1)
print(f"{len(graph.entities)} entities, {len(graph.relations)} relations, {len(triplets)} facts")

model = ist.train(graph, "DistMult", progress=False)

print("vienna, located_in, ?")
for answer in model.predict(subject="vienna", relation="located_in", k=3):
    print(f"  {answer.rank}. {answer.entity:10} {answer.logit:6.2f}")

# Many questions at once go by file: model.predict_file("queries.tsv", "answers.tsv").
