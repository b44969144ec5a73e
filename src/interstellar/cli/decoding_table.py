"""What `interstellar evaluate` says of one decoding, or of all of them side by side."""

from typing import TYPE_CHECKING

from interstellar.cli.output import print_json, print_rows, report
from interstellar.errors import SettingsError

if TYPE_CHECKING:
    from interstellar.evaluation.alignment import Candidates
    from interstellar.evaluation.similarity import Decoding
    from interstellar.tasks.splits import Split
    from interstellar.tasks.trained_run import TrainedRun

EVERY_DECODING = "all"

COLUMNS = ("hits@1", "hits@3", "hits@10", "mrr", "mean_rank")

NumberByName = dict[str, float | int]


def measure_decoding(
    trained: "TrainedRun", split: "Split", candidates: "Candidates", decoding: "Decoding"
) -> NumberByName:
    """Return the metrics of a run; those of one-to-one decodings are `hits@1` and `n` alone."""
    from interstellar.tasks.entity_alignment import EntityAlignment

    task, subjects = trained.task, trained.network.subjects
    if decoding.is_one_to_one and isinstance(task, EntityAlignment):
        return task.measure_matched(subjects, split, candidates, decoding).as_dict()
    return trained.measure(split, candidates=candidates, decoding=decoding).as_dict()


def show_decodings(trained: "TrainedRun", split: "Split", *, as_json: bool) -> None:
    """Print the metrics of every decoding with both kinds of candidates."""
    from interstellar.evaluation.alignment import Candidates
    from interstellar.evaluation.similarity import Decoding
    from interstellar.tasks.entity_alignment import EntityAlignment

    if not isinstance(trained.task, EntityAlignment):
        raise SettingsError(
            "--decode chooses among the entities of a second graph, and this is a run of link "
            "prediction. Leave it out."
        )
    found = {
        decoding.value: {
            candidates.value: measure_if_it_fits(trained, split, candidates, decoding)
            for candidates in Candidates
        }
        for decoding in Decoding
    }
    if as_json:
        print_json({"decodings": found, "split": split.value})
        return
    rows = [
        (decoding, candidates, *(format_metric(metrics, name) for name in COLUMNS))
        for decoding, by_candidates in found.items()
        for candidates, metrics in by_candidates.items()
    ]
    print_rows([("decode", "candidates", *COLUMNS), *rows])


def measure_if_it_fits(
    trained: "TrainedRun", split: "Split", candidates: "Candidates", decoding: "Decoding"
) -> NumberByName | None:
    """Return the metrics, or None, with a remark, where the memory is too small."""
    try:
        return measure_decoding(trained, split, candidates, decoding)
    except SettingsError as error:
        report(f"{decoding} with {candidates} candidates was left out: {error}")
        return None


def format_metric(metrics: NumberByName | None, name: str) -> str:
    """Return a metric with four digits, a dash where there is none."""
    return "–" if metrics is None or name not in metrics else f"{metrics[name]:.4g}"
