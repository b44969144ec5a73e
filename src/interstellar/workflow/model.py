"""A trained network with the graph it learned: what predicts, aligns and is saved."""

import logging
import os
import shutil
from functools import cached_property
from pathlib import Path
from typing import Any, final

import torch

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.notation import read_architecture, to_formula
from interstellar.data.graph import AnyGraph
from interstellar.data.loading import Source
from interstellar.errors import SettingsError
from interstellar.evaluation.alignment import Candidates
from interstellar.evaluation.calibration import Reliability
from interstellar.evaluation.similarity import Decoding
from interstellar.records.run_folder import RunFolder, refuse_existing
from interstellar.records.safe_files import new_folder, refuse_taken
from interstellar.tasks.answer_file import FileOutcome, answer_file
from interstellar.tasks.embedding_export import Exported, export
from interstellar.tasks.entity_alignment import EntityAlignment
from interstellar.tasks.grown_graph import Side
from interstellar.tasks.iterated_alignment import alignment_of, refuse_round
from interstellar.tasks.link_prediction import LinkPrediction
from interstellar.tasks.run_calibration import measure_run_reliability
from interstellar.tasks.run_prediction import Prediction, RunPredictor, build_predictor
from interstellar.tasks.splits import Split
from interstellar.tasks.trained_run import TrainedRun, open_run
from interstellar.tasks.training_run import Result
from interstellar.tasks.update_run import plan_update
from interstellar.tasks.whole_alignment import align
from interstellar.workflow.alignment import Alignment, read_alignment_settings
from interstellar.workflow.audience import find_audience, tell
from interstellar.workflow.iterating import train_in_rounds
from interstellar.workflow.run_place import RunPlace, choose_place
from interstellar.workflow.updating import train_update
from interstellar.workflow.words import choose

log = logging.getLogger(__name__)

MANY_FOR_HUNGARIAN = 30_000
"""So many entities take a minute or more; the time grows with the cube."""
FEW_PAIRS = 20
"""Of validation; a threshold chosen on fewer is a matter of luck."""

NumberByName = dict[str, float | int]


@final
class Model:
    """A finished run, opened. Made by `train`, `open` and `update`.

    Args:
        place: The folder of the run.
        device: Where the network computes.
    """

    def __init__(self, place: RunPlace, device: torch.device) -> None:
        self.path = place.path
        """The folder of the run."""
        self.device = device
        self._place = place

    def __repr__(self) -> str:
        """Return what it is in one line."""
        formula = to_formula(canonical_form(self.architecture))
        return f"<Model {formula} of {self.graph.name} in {self.path}>"

    @cached_property
    def result(self) -> Result:
        """What `result.json` holds: metrics, times, the best epoch."""
        return RunFolder.open(self.path).read_result()

    @property
    def metrics(self) -> dict[str, NumberByName | None]:
        """The metrics on `valid` and `test`; None where nothing was held out."""
        metrics: dict[str, NumberByName | None] = self.result["metrics"]
        return metrics

    @property
    def graph(self) -> AnyGraph:
        """What it was trained on, as the run keeps it."""
        return self.trained.task.graph

    @property
    def architecture(self) -> Architecture:
        """Which network it is."""
        return read_architecture(self.trained.experiment.architecture)

    @cached_property
    def trained(self) -> TrainedRun:
        """Experiment, task and network, for the layers below."""
        return open_run(self.path, self.device)

    @cached_property
    def predictor(self) -> RunPredictor:
        """What answers queries, for the layers below."""
        return build_predictor(self.path, self.trained)

    def predict(
        self,
        *,
        subject: str | None = None,
        relation: str,
        object: str | None = None,
        k: int = 10,
        with_known: bool = False,
        explain: bool = False,
    ) -> list[Prediction]:
        """Return the entities that most likely complete a triplet, the most likely first.

        Args:
            subject: Ask for objects of this entity.
            relation: The relation that is asked for.
            object: Ask for subjects of this entity; one of both ends is given.
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
        queries: str | os.PathLike[str],
        out: str | os.PathLike[str],
        *,
        k: int = 10,
        with_known: bool = False,
    ) -> FileOutcome:
        """Answer a file of queries into another, and return what could not be answered.

        Args:
            queries: Columns subject, relation and object, one end of each row empty or `?`.
            out: The answers: .tsv, .csv or .parquet.
            k: Answers to each query.
            with_known: Do not leave out what the graph says already.
        """
        refuse_taken(Path(out), (queries, *self.trained.experiment.sources))
        predictor = self.predictor
        return answer_file(
            predictor.predictor,
            predictor.graph,
            Path(queries),
            Path(out),
            k=k,
            with_known=with_known,
        )

    def evaluate(
        self, *, split: str = "test", decode: str = "cosine", candidates: str = "reference"
    ) -> NumberByName:
        """Return the metrics on a split.

        Args:
            split: valid or test.
            decode: Of an alignment: cosine, csls, sinkhorn, hungarian or stable; the last two
                have `hits@1` alone.
            candidates: Of an alignment: reference (as published) or all.
        """
        chosen = choose("split", split, Split)
        decoding = choose("decode", decode, Decoding)
        among = choose("candidates", candidates, Candidates)
        task = self.trained.task
        if decoding.is_one_to_one and isinstance(task, EntityAlignment):
            subjects = self.trained.network.subjects
            return task.measure_matched(subjects, chosen, among, decoding).as_dict()
        return self.trained.measure(chosen, candidates=among, decoding=decoding).as_dict()

    def compare_decodings(
        self, *, split: str = "test"
    ) -> dict[str, dict[str, NumberByName | None]]:
        """Return the metrics of every decoding of an alignment with both kinds of candidates.

        None where a decoding does not fit the memory.
        """
        choose("split", split, Split)
        alignment_of(self.trained, self.path)
        return {
            decoding.value: {
                candidates.value: self._evaluate_if_it_fits(split, decoding, candidates)
                for candidates in Candidates
            }
            for decoding in Decoding
        }

    def _evaluate_if_it_fits(
        self, split: str, decoding: Decoding, candidates: Candidates
    ) -> NumberByName | None:
        try:
            return self.evaluate(split=split, decode=decoding, candidates=candidates)
        except SettingsError as error:
            log.warning("%s with %s candidates was left out: %s", decoding, candidates, error)
            return None

    def evaluate_calibration(self, *, split: str = "test") -> Reliability:
        """Return how far the probabilities of predicted links can be taken at their word."""
        task = self.trained.task
        if not isinstance(task, LinkPrediction):
            raise SettingsError(
                "the calibration is that of probabilities of predicted links, and this is a run "
                "of entity alignment. Leave it out."
            )
        chosen = choose("split", split, Split)
        return measure_run_reliability(self.path, task, self.trained.network, chosen)

    def align(
        self,
        *,
        decode: str = "sinkhorn",
        top_k: int | None = None,
        one_to_one: bool = False,
        threshold: str | float = "auto",
        direction: str = "first",
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
            threshold: Pairs below it are left out; auto has the highest F1 on validation, none
                leaves out nothing.
            direction: Whose entities look for partners: first, second, or both, who must agree.
            iterate: First train on in up to so many rounds, pairs found added as seeds; kept in
                the folder of the run, where the same call again goes on.
            epochs: Of a round, at most.
            seed: Breaks ties.
            progress: Whether to show the rounds, and what there is to say.
        """
        settings = read_alignment_settings(
            decode, top_k, one_to_one=one_to_one, threshold=threshold, direction=direction
        )
        if epochs is not None and iterate is None:
            raise SettingsError(
                f"epochs={epochs} is for the rounds of `iterate`, and none are asked for. "
                "Give iterate too, or leave epochs out."
            )
        refuse_round(self.path)
        task = alignment_of(self.trained, self.path)
        audience = find_audience(is_wanted=progress)
        if settings.threshold is None and len(task.graph.valid) < FEW_PAIRS:
            tell(audience, describe_few_pairs(len(task.graph.valid)))
        n_largest = max(len(task.graph.first.entities), len(task.graph.second.entities))
        if settings.decoding is Decoding.HUNGARIAN and n_largest > MANY_FOR_HUNGARIAN:
            tell(audience, describe_slow_matching(n_largest))
        iterated = None
        if iterate is not None:
            iterated = train_in_rounds(
                self.path,
                iterate,
                epochs=epochs,
                metric=self.trained.experiment.settings.selection,
                device=self.device,
                audience=audience,
            )
        trained = self.trained if iterated is None else iterated.trained
        first, second = task.tables(trained.network.subjects)
        whole = align(task.graph, first, second, settings, seed=seed)
        return Alignment(graph=task.graph, whole=whole, settings=settings, iterated=iterated)

    def update(
        self,
        more: Source,
        *,
        graph: str | None = None,
        pairs: str | os.PathLike[str] | None = None,
        epochs: int | None = None,
        learning_rate: float | None = None,
        out: str | os.PathLike[str] | None = None,
        resume: bool = False,
        progress: bool = True,
    ) -> "Model":
        """Return a model that has taken in new triplets, trained on from this one.

        Args:
            more: The triplets, in any form that `load` takes.
            graph: Of an alignment: which graph grows, first (unless said) or second.
            pairs: Of an alignment: a file of pairs that become seeds.
            epochs: How many; 10 unless said.
            learning_rate: At first; that of this model unless said.
            out: Folder of the new run; a temporary one unless said.
            resume: Go on with the update in `out`.
            progress: Whether to show it.
        """
        place = choose_place(out, is_resumed=resume)
        if not resume:
            refuse_existing(place.path)
        side = None if graph is None else choose("graph", graph, Side)
        known = None if pairs is None else Path(pairs)
        planned = plan_update(
            self.path, more, side=side, pairs=known, epochs=epochs, learning_rate=learning_rate
        )
        train_update(
            planned,
            place.path,
            device=self.device,
            is_resumed=resume,
            audience=find_audience(is_wanted=progress),
        )
        return Model(place, self.device)

    def export(
        self, path: str | os.PathLike[str], *, table: str | None = None, form: str | None = None
    ) -> Exported:
        """Write the embeddings by name into one file.

        Args:
            path: .parquet, .tsv, or .txt and .vec (word vectors).
            table: subjects, objects, relations or all.
            form: parquet, tsv or word2vec, where the file's ending does not say it.
        """
        return export(self.trained, path, table=table, form=form)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Copy the folder of the run, whole or not at all; `open` reads it, anywhere."""
        target = Path(path)
        refuse_existing(target)
        with new_folder(target) as draft:
            shutil.copytree(self.path, draft, dirs_exist_ok=True)

    def to_pykeen(self) -> Any:
        """Return a PyKEEN `Model` that its evaluator and its predict functions work on."""
        from interstellar.adapters.pykeen_model import to_pykeen  # noqa: PLC0415 (an extra)

        return to_pykeen(self.trained)


def describe_slow_matching(n: int) -> str:
    """Say how long the Hungarian method may take, by what 15,000 entities took."""
    minutes = (n / 15_000) ** 3 * 8.1 / 60
    return (
        f"note: Hungarian matching of {n:,} entities may take some {minutes:,.0f} minutes without "
        "a word: its time grows with the cube. Sinkhorn (--decode sinkhorn) is usually as good and "
        "takes seconds on a GPU."
    )


def describe_few_pairs(n: int) -> str:
    """Say what a threshold is worth that was chosen on few pairs."""
    return (
        f"note: the threshold is chosen on {n} validation {'pair' if n == 1 else 'pairs'} alone. "
        "With so few, look at the scores and give one (--threshold 0.5), or keep all (--threshold "
        "none)."
    )
