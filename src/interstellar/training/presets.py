"""What was published, as data: the settings and numbers of every row of the tables.

Where the paper leaves something open, the choice is ours and said below:

- The paper selects by Hits@1 in its searches and is silent on the epoch of the final training.
  Here that is selected by MRR, which all ranks move, so that neighbouring epochs do not tie.
- The final training of an alignment runs all of its 40 epochs. Stopped as by the paper's program,
  after 6 epochs without gain in Hits@1 of 1,050 pairs (standard error 1.5 points), they end up
  0.4 to 0.6 points of Hits@1 lower (results/*_published_rule-seed*).
- How the searches of link prediction stop is not said: after 3 validations without gain.
- Countries: dimension, learning rate and epochs were measured for this project; batch, decay and
  the rest are chosen so that a model takes seconds.
"""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from interstellar.architecture.literature import FOUND_ON_DBP_WD, published_on
from interstellar.architecture.number_code import code_text
from interstellar.data.graph import Task
from interstellar.errors import SettingsError
from interstellar.paths.walk_settings import WalkSettings
from interstellar.training.settings import Metric, TrainingSettings

PAPER = "Zhang, Yao and Chen: Interstellar, NeurIPS 2020"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedMetrics:
    """Test metrics as printed; None where the table has none."""

    hits_at_1: float | None = None
    """In per cent, as the next; the others are from 0 to 1."""
    hits_at_10: float | None = None
    mrr: float | None = None
    auc_pr: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One published row: what to train, how, and what it should reach."""

    name: str
    """Also the stem of its file in `experiments/`."""
    data: str
    """The name of the set it is for."""
    task: Task
    architecture: str
    """An 11-number code or the name of a published model."""
    settings: TrainingSettings
    published: PublishedMetrics | None
    source: str
    """Where row and numbers stand."""


Rates: TypeAlias = tuple[float, float, float, int, float]
"""Learning rate, weight decay (L2), dropout, batch size, decay of the learning rate."""


def _with_rates(settings: TrainingSettings, rates: Rates, **changes: Any) -> TrainingSettings:
    names = ("learning_rate", "weight_decay", "dropout", "batch_size", "lr_decay")
    changes |= zip(names, rates, strict=True)
    return replace(settings, **changes)


ALIGNMENT_SEARCH = TrainingSettings(
    dim=256,
    batch_size=1024,
    learning_rate=3e-4,
    weight_decay=0.0015,
    dropout=0.3,
    lr_decay=0.99663,
    max_epochs=10,
    validate_every=1,
    patience=3,
    metric=Metric.HITS_AT_1,
    gradient_norm=5.0,
    walk=WalkSettings.alignment(),
)
"""How each architecture is trained in a search for alignment, on every set."""

WN18RR_SEARCH = TrainingSettings(
    dim=64,
    batch_size=512,
    learning_rate=0.00362,
    weight_decay=7e-5,
    dropout=0.0,
    lr_decay=0.99184,
    max_epochs=20,
    validate_every=2,
    patience=3,
    metric=Metric.HITS_AT_1,
    gradient_norm=None,
    walk=WalkSettings.link_prediction(),
)
"""How each architecture is trained in a search on WN18RR; the paper has no settings for others."""

FB15K_237_SEARCH = _with_rates(WN18RR_SEARCH, (0.00286, 9.5e-4, 0.0, 1024, 0.99113))
"""How each architecture is trained in a search on FB15k-237."""

ALIGNMENT = _with_rates(
    ALIGNMENT_SEARCH, (1e-4, 0.0014, 0.3, 512, 0.9875), max_epochs=40, patience=6
)
"""What the published rows of alignment have in common."""

LINK_PREDICTION = _with_rates(
    replace(WN18RR_SEARCH, dim=256, max_epochs=50, patience=5, metric=Metric.MRR),
    (0.001, 1e-6, 0.3, 512, 0.985),
)
"""What the published rows of link prediction have in common."""

COUNTRIES = _with_rates(
    replace(WN18RR_SEARCH, max_epochs=60, patience=0, metric=Metric.AUC_PR),
    (0.005, 0.0, 0.0, 128, 0.99),
)
"""For Countries and the built-in geography, sets of about a thousand triplets."""


def _row(
    usual: TrainingSettings,
    data: str,
    rates: Rates,
    metrics: tuple[float, float, float],
    **changes: int,
) -> Preset:
    hits_at_1, hits_at_10, mrr = metrics
    is_alignment = usual is ALIGNMENT
    return Preset(
        name=_file_stem(data, "alignment" if is_alignment else "link_prediction"),
        data=data,
        task=Task.ENTITY_ALIGNMENT if is_alignment else Task.LINK_PREDICTION,
        architecture=code_text(published_on(data)),
        settings=_with_rates(usual, rates, patience=0, metric=Metric.MRR, **changes),
        published=PublishedMetrics(hits_at_1=hits_at_1, hits_at_10=hits_at_10, mrr=mrr),
        source=PAPER,
    )


def _countries_row(data: str, architecture: str) -> Preset:
    return Preset(
        name=_file_stem(data, architecture),
        data=data,
        task=Task.LINK_PREDICTION,
        architecture=architecture,
        settings=COUNTRIES,
        published=None,
        source="this project's settings; the paper prints only the best of each subspace",
    )


def _file_stem(*words: str) -> str:
    return "_".join(words).lower().replace("-", "_")


# Set; rates; Hits@1, Hits@10, MRR.
PAPER_PRESETS = (
    _row(ALIGNMENT, "DBP-WD", (6.8e-5, 0.001598, 0.26, 512, 0.99715), (40.7, 71.2, 0.51)),
    _row(ALIGNMENT, "DBP-YG", (3e-5, 0.001378, 0.45, 512, 0.989504), (40.2, 72.0, 0.51)),
    _row(ALIGNMENT, "EN-FR", (7.1e-5, 0.001332, 0.31, 512, 0.98616), (35.5, 67.9, 0.46)),
    _row(ALIGNMENT, "EN-DE", (1.03e-4, 0.004069, 0.25, 2048, 0.98126), (50.1, 75.6, 0.59)),
    _row(ALIGNMENT, "DBP-WD-dense", (8.5e-5, 0.001761, 0.11, 1024, 0.9864), (77.9, 94.1, 0.84)),
    _row(ALIGNMENT, "DBP-YG-dense", (5.1e-5, 0.000521, 0.39, 512, 0.98797), (81.8, 96.2, 0.87)),
    _row(ALIGNMENT, "EN-FR-dense", (6.2e-5, 0.000983, 0.29, 1024, 0.9894), (77.3, 94.7, 0.84)),
    _row(ALIGNMENT, "EN-DE-dense", (1.13e-4, 0.001397, 0.21, 1024, 0.9848), (75.3, 90.3, 0.81)),
    _row(
        LINK_PREDICTION,
        "WN18RR",
        (0.003093, 4e-6, 0.35, 2048, 0.9876),
        (43.8, 54.6, 0.48),
        max_epochs=80,  # at the published 50 it still gains: .473 in place of .475
    ),
    _row(LINK_PREDICTION, "FB15k-237", (6.34e-4, 1e-7, 0.42, 2048, 0.9824), (23.3, 50.8, 0.32)),
)
"""The rows whose architecture and settings were published."""

FOUND_PRESETS = (
    replace(
        PAPER_PRESETS[0],
        name="dbp_wd_found",
        architecture=code_text(FOUND_ON_DBP_WD),
        published=None,
        source="found by our search (results/searches/dbp_wd_hybrid), settings of the paper's row",
    ),
    replace(
        next(preset for preset in PAPER_PRESETS if preset.data == "WN18RR"),
        name="wn18rr_found",
        architecture="DistMult",
        published=None,
        source="tried first by our search, and best on validation of what our searches led to "
        "(results/searches/wn18rr_*); settings of the paper's row",
    ),
)
"""What our own searches found."""

COUNTRIES_PRESETS = tuple(
    _countries_row(f"countries-S{task}", architecture)
    for task in (1, 2, 3)
    for architecture in ("TransE", "ComplEx", "PTransE-add")
)
"""A single hop by sum and by product, and a path, on each of the three Countries sets."""


def paper_preset(data_name: str) -> Preset:
    """Return the published row of a set, whose name may be in any case."""
    preset = find_row(data_name)
    if preset is None:
        raise SettingsError(
            f"{data_name} has no published settings. The paper's rows are for "
            f"{', '.join(preset.data for preset in PAPER_PRESETS)}. "
            "Leave the preset out: then sensible values are taken."
        )
    return preset


def search_settings(task: Task, data_name: str) -> TrainingSettings:
    """Return the settings with which the paper's search trains each architecture on a set."""
    name = data_name.strip().casefold()
    if task is Task.ENTITY_ALIGNMENT:
        return ALIGNMENT_SEARCH
    if name.startswith(("countries-s", "geography-s")):
        return COUNTRIES
    return FB15K_237_SEARCH if name == "fb15k-237" else WN18RR_SEARCH


def find_row(data_name: str) -> Preset | None:
    """Return the published row of a set; None: it has none."""
    wanted = data_name.strip().casefold()
    return next((row for row in PAPER_PRESETS if row.data.casefold() == wanted), None)
