"""A trained network with the graph it learned: what predicts, aligns and is saved."""

import shutil
from functools import cached_property
from pathlib import Path
from typing import Any, final

import torch

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.notation import read_architecture
from interstellar.data.graph import AnyGraph, KnowledgeGraph
from interstellar.data.loading import Source
from interstellar.device import find_device
from interstellar.errors import SettingsError
from interstellar.evaluation.alignment import Candidates
from interstellar.evaluation.calibration import Reliability
from interstellar.evaluation.similarity import Decoding
from interstellar.inference.alignment import Alignment, read_alignment_settings
from interstellar.inference.export import Exported, export_embeddings
from interstellar.inference.iterated_alignment import alignment_of, refuse_round
from interstellar.inference.prediction import Answers, RunPredictor, build_predictor
from interstellar.inference.query_file import FileOutcome, answer_file
from interstellar.records.run_folder import RunFolder, refuse_existing
from interstellar.records.safe_files import new_folder, refuse_taken
from interstellar.rivals.notation import model_formula
from interstellar.runs.grown_graph import Side
from interstellar.runs.other_graph import read_other_graph
from interstellar.runs.run import Result
from interstellar.runs.trained_run import TrainedRun, measure_run_reliability, open_run
from interstellar.runs.update_run import plan_update, update_run
from interstellar.tasks.link_prediction import LinkPrediction
from interstellar.tasks.splits import Split
from interstellar.words import choose
from interstellar.workflow.aligning import (
    NumberByName,
    align_run,
    compare_decodings,
    read_rounds,
)
from interstellar.workflow.audience import find_audience, tell
from interstellar.workflow.progress import training_bar
from interstellar.workflow.run_place import RunPlace, StrPath, choose_place


@final
class Model:
    """A finished run, opened. Made by `train`, `open` and `update`."""

    def __init__(
        self, place: RunPlace, device: torch.device, graph: Source | KnowledgeGraph | None = None
    ) -> None:
        """Open a run, to be asked about another graph where one is given."""
        self.path, self.device = place.path, device
        self._other = graph
        self._place = place  # a temporary folder lasts as long as it is held

    def __repr__(self) -> str:
        """Return what it is in one line."""
        formula = model_formula(self.trained.experiment.architecture)
        measured = self.metrics["test"] or self.metrics["valid"] or {}
        mrr = f", mrr {measured['mrr']:.3f}" if "mrr" in measured else ""
        return f"<Model {formula} of {self.graph.name}{mrr}, in {self.path}>"

    @cached_property
    def result(self) -> Result:
        """What `result.json` holds: metrics, times, the best epoch."""
        return RunFolder.open(self.path).read_result()

    @property
    def metrics(self) -> dict[str, NumberByName | None]:
        """The metrics on `valid` and `test`; None where nothing was held out."""
        return dict(self.result["metrics"])

    @property
    def graph(self) -> AnyGraph:
        """What it was trained on, as the run keeps it; or the other graph it is asked about."""
        return self.asked.task.graph

    @cached_property
    def asked(self) -> TrainedRun:
        """The network for the graph that it is asked about."""
        if self._other is None:
            return self.trained
        return self.trained.on(read_other_graph(self._other, self.trained.task.graph.all_relations))

    @property
    def architecture(self) -> Architecture:
        """Which network it is, where it is of the search space."""
        return read_architecture(self.trained.experiment.architecture)

    @cached_property
    def trained(self) -> TrainedRun:
        """Experiment, task and network, for the layers below."""
        return open_run(self.path, self.device)

    @cached_property
    def predictor(self) -> RunPredictor:
        """What answers queries, for the layers below."""
        return build_predictor(self.path, self.trained, self.asked)

    def predict(
        self,
        *,
        subject: str | None = None,
        relation: str,
        object: str | None = None,
        k: int = 10,
        with_known: bool = False,
        explain: bool = False,
    ) -> Answers:
        """Return the entities that most likely complete a triplet, the most likely first.

        Args:
            subject: Ask for objects of this entity.
            relation: Which one is asked for.
            object: Ask for subjects of this entity; give this or `subject`.
            k: How many answers.
            with_known: Do not leave out what the graph says already.
            explain: Also find the paths that speak for each answer.
        """
        return self.predictor.predict(
            subject=subject,
            relation=relation,
            object=object,
            k=k,
            with_known=with_known,
            is_explained=explain,
        )

    def predict_file(
        self,
        queries: StrPath,
        out: StrPath,
        *,
        k: int = 10,
        with_known: bool = False,
        overwrite: bool = False,
    ) -> FileOutcome:
        """Answer a file of queries into another, and return what could not be answered.

        Args:
            queries: Columns subject, relation and object, one end of each row empty or `?`.
            out: The answers: .tsv, .csv or .parquet.
            k: Answers to each query.
            with_known: As of `predict`.
            overwrite: Replace `out` where it exists.
        """
        refuse_taken(Path(out), (queries, *self.trained.experiment.sources))
        return answer_file(
            self.predictor.predictor,
            self.predictor.graph,
            Path(queries),
            Path(out),
            k=k,
            with_known=with_known,
            overwrite=overwrite,
        )

    def evaluate(
        self,
        *,
        split: str = "test",
        decode: str = "cosine",
        candidates: str = "reference",
        negatives: int | None = None,
        seed: int = 0,
    ) -> NumberByName:
        """Return the metrics on a split.

        Args:
            split: valid or test.
            decode: Of an alignment: cosine, csls, sinkhorn, hungarian or stable; the last two
                have `hits@1` alone.
            candidates: Of an alignment: reference (as published) or all.
            negatives: Of links: rank among so many others, as GraIL does (50), not among all.
            seed: By which these are drawn.
        """
        return self.asked.measure(
            choose("split", split, Split),
            candidates=choose("candidates", candidates, Candidates),
            decoding=choose("decode", decode, Decoding),
            n_negatives=negatives,
            seed=seed,
        ).as_dict()

    def compare_decodings(
        self, *, split: str = "test"
    ) -> dict[str, dict[str, NumberByName | None]]:
        """Return the metrics of every decoding of an alignment with both kinds of candidates.

        None where a decoding does not fit the memory.
        """
        choose("split", split, Split)
        alignment_of(self.trained, self.path)
        return compare_decodings(lambda d, c: self.evaluate(split=split, decode=d, candidates=c))

    def evaluate_calibration(self, *, split: str = "test") -> Reliability:
        """Return how far the probabilities of predicted links can be taken at their word."""
        task = self.trained.task
        if self._other is not None or not isinstance(task, LinkPrediction):
            raise SettingsError(
                "the calibration is that of probabilities of links in the graph of a run, and this "
                "is another graph, or a run of entity alignment. Leave it out."
            )
        chosen = choose("split", split, Split)
        return measure_run_reliability(self.path, task, self.trained.network, chosen)

    def align(
        self,
        *,
        decode: str = "sinkhorn",
        top_k: int | None = None,
        one_to_one: bool = False,
        approximate: bool = False,
        threshold: str | float = "auto",
        direction: str = "source",
        iterate: int | None = None,
        epochs: int | None = None,
        seed: int = 0,
        progress: bool = True,
    ) -> Alignment:
        """Align all entities of the two graphs.

        Args:
            decode: cosine, csls, sinkhorn, hungarian or stable.
            top_k: List so many partners of each entity instead of the best one.
            one_to_one: Give no entity two partners.
            approximate: With cosine or csls, do not compare all with all (extra `ann`).
            threshold: Pairs below it are left out; auto has the highest F1 on validation, none
                leaves out nothing.
            direction: Whose entities look for partners: source, target, or both, who must agree.
            iterate: First train on in up to so many rounds, pairs found added as seeds; kept in
                the folder of the run, where the same call again goes on.
            epochs: Of a round, at most.
            seed: Breaks ties.
            progress: Whether to show the rounds, and what there is to say.
        """
        settings = read_alignment_settings(
            decode,
            top_k,
            one_to_one=one_to_one,
            threshold=threshold,
            direction=direction,
            approximate=approximate,
        )
        refuse_round(self.path)
        rounds = read_rounds(iterate, epochs, seed)
        audience = find_audience(is_wanted=progress)
        return align_run(self.path, self.trained, settings, rounds, seed=seed, audience=audience)

    def update(
        self,
        more: Source,
        *,
        graph: str | None = None,
        pairs: StrPath | None = None,
        epochs: int | None = None,
        learning_rate: float | None = None,
        out: StrPath | None = None,
        resume: bool = False,
        progress: bool = True,
    ) -> "Model":
        """Return a model that has taken in new triplets, trained on from this one.

        Args:
            more: The triplets, in any form that `load` takes.
            graph: Of an alignment: which graph grows, first (unless said) or second.
            pairs: Of an alignment: a file of pairs that become seeds.
            epochs: How many; 10 unless said, of a propagation none.
            learning_rate: At first; that of this model unless said.
            out: Folder of the new run; a temporary one unless said.
            resume: Go on with the update in `out`.
            progress: Whether to show it.
        """
        place = choose_place(out, is_resumed=resume)
        if not resume:
            refuse_existing(place.path)
        planned = plan_update(
            self.path,
            more,
            side=None if graph is None else choose("graph", graph, Side),
            pairs=None if pairs is None else Path(pairs),
            epochs=epochs,
            learning_rate=learning_rate,
        )
        audience = find_audience(is_wanted=progress)
        for note in planned.notes:
            tell(audience, f"note: {note}")
        settings = planned.experiment.settings
        with training_bar(settings.max_epochs, settings.metric, audience) as observer:
            update_run(planned, place.path, device=self.device, resume=resume, observer=observer)
        return Model(place, self.device)

    def export(
        self,
        path: StrPath,
        *,
        table: str | None = None,
        format: str | None = None,
        overwrite: bool = False,
    ) -> Exported:
        """Write the embeddings by name into one file.

        Args:
            path: .parquet, .tsv, .csv, or .txt and .vec (word vectors).
            table: subjects, objects, relations or all.
            format: parquet, tsv, csv or word2vec, where the ending of `path` does not say it.
            overwrite: Replace the file where it exists.
        """
        return export_embeddings(
            self.trained, Path(path), table=table, format=format, overwrite=overwrite
        )

    def save(self, path: StrPath) -> None:
        """Copy the folder of the run, whole or not at all; `open` reads it, anywhere."""
        target = Path(path)
        refuse_existing(target)
        with new_folder(target) as draft:
            shutil.copytree(self.path, draft, dirs_exist_ok=True)

    def to_pykeen(self) -> Any:
        """Return a PyKEEN `Model` that its evaluator and its predict functions work on."""
        from interstellar.adapters.pykeen import to_pykeen  # noqa: PLC0415 (an extra)

        return to_pykeen(self.trained)


def open(  # noqa: A001 (ist.open)
    path: StrPath,
    *,
    device: str | torch.device = "auto",
    graph: Source | KnowledgeGraph | None = None,
) -> Model:
    """Open the folder of a finished run: the `out` of a training, or what `Model.save` wrote.

    With `graph`, a propagation is asked about that graph, whose entities it need never have seen.

    Raises:
        SettingsError: It is no run, one of a search, or not finished.
        DataError: A file of it was cut or altered, or is of a newer version.
    """
    model = Model(RunPlace(Path(path)), find_device(str(device)), graph)
    assert model.asked is not None  # what cannot be opened is said now
    return model
