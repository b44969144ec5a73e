"""Search the network that suits a graph, train it, and ask it why it answers as it does."""

import interstellar as ist

graph = ist.load("geography-S2")  # countries, their neighbours, the regions they lie in

# Four networks that follow paths of relations (P3), for a few epochs, to see it work.
# For a graph of yours: ist.search(graph, time="20m").
plan = ist.SearchPlan(subspace=ist.Subspace.P3)
found = ist.search(graph, plan, trials=4, metric="mrr", epochs=6, progress=False)
for trial in sorted(found.trials, key=lambda trial: -(trial.score or 0)):
    print(f"{trial.score:.3f}  {trial.formula}")

model = ist.train(graph, found.best, epochs=20, progress=False)
print(f"\nthe best, trained: MRR {model.evaluate()['mrr']:.3f} on the test countries")

[answer] = model.predict(subject="armenia", relation="locatedin", k=1, explain=True)
print(f"\narmenia lies in {answer.entity}:")
for path in answer.explanation.paths[:3] if answer.explanation else ():
    print(f"{path.support:+.2f}  {path}")
