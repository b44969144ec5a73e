"""The settings that are searched with the architecture: a few values around a graph's own."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from interstellar.architecture.propagation import CHOICES, CLAUSES, MAX_DEPTH
from interstellar.architecture.search_space import Point
from interstellar.errors import SettingsError
from interstellar.searching.tried_network import Changes, Value, own_choices
from interstellar.training.settings import TrainingSettings

LEAST_BATCH = 64
"""Under it a batch is left alone: a step costs the same, whatever is in it."""
LEAST_DIM, MOST_DIM = 16, 2048
LEAST_STATE, MOST_STATE = 8, 64
"""The dimension of a propagation, which has a state for each node and query."""
MOST_DROPOUT = 0.6
FIRST_N3 = (0.01, 0.1)
"""What is tried where the graph's own settings have no N3."""
SMOOTHINGS = (0.0, 0.1)
PATH_LENGTH, PATH_LENGTHS = "path_length", (1, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChoice:
    """A field of `TrainingSettings` with the values it may take."""

    name: str
    options: tuple[Value, ...]
    """All different; the first is that of the graph's own settings."""

    def __post_init__(self) -> None:
        if not self.options or len(set(self.options)) < len(self.options):
            raise SettingsError(
                f"The options of {self.name} are {list(self.options)}, but there must be at least "
                "one and none twice. Take the others out."
            )


def searched_settings(
    own: TrainingSettings, *, kept: Collection[str] = ()
) -> tuple[SettingChoice, ...]:
    """Return the choices around a graph's own settings, without those that are to be kept.

    Those of a propagation's network are all there, because its trials say all of them.
    """
    if own.propagation is not None:
        return _of_propagation(own, kept)
    rate, dropout, dim = own.learning_rate, own.dropout, own.dim
    others_by_name: dict[str, Sequence[Value]] = {
        "learning_rate": [_round(0.3 * rate), _round(3 * rate)],
        "dropout": [max(0.0, _round(dropout - 0.2)), min(MOST_DROPOUT, _round(dropout + 0.2))],
        "dim": [d for d in (dim // 4 * 2, 2 * dim) if LEAST_DIM <= d <= MOST_DIM],
    }
    if own.batch_size >= LEAST_BATCH:
        others_by_name["batch_size"] = [own.batch_size // 2, 2 * own.batch_size]
    others_by_name |= _regularisers(own)
    choices = [_choice(own, name, others) for name, others in others_by_name.items()]
    return tuple(c for c in choices if len(c.options) > 1 and c.name not in kept)


def changes_at(choices: Sequence[SettingChoice], point: Point) -> Changes:
    """Return what differs at a point from the graph's own settings, or says what network it is."""
    taken = zip(choices, point, strict=True)
    return {c.name: c.options[i] for c, i in taken if i > 0 or c.name in CLAUSES}


def locate_changes(choices: Sequence[SettingChoice], changes: Changes) -> Point | None:
    """Return the point of changes; None: they are not among the choices."""
    options_by_name = {choice.name: choice.options for choice in choices}
    if any(value not in options_by_name.get(name, ()) for name, value in changes.items()):
        return None
    values = (changes.get(choice.name, choice.options[0]) for choice in choices)
    return tuple(c.options.index(value) for c, value in zip(choices, values, strict=True))


def _of_propagation(own: TrainingSettings, kept: Collection[str]) -> tuple[SettingChoice, ...]:
    rate, dim, network = own.learning_rate, own.dim, own_choices(own)
    depth = int(network["depth"])
    others_by_name: dict[str, Sequence[Value]] = {
        "learning_rate": [_round(0.3 * rate), _round(3 * rate)],
        "dim": [d for d in (dim // 4 * 2, 2 * dim) if LEAST_STATE <= d <= MOST_STATE],
        "depth": [d for d in (depth - 2, depth + 2) if 1 <= d <= MAX_DEPTH],
        **{name: [str(option) for option in kind] for name, kind in CHOICES.items()},
    }
    own_by_name: dict[str, Value] = {"learning_rate": rate, "dim": dim, **network}
    choices = []
    for name, others in others_by_name.items():
        options = dict.fromkeys((own_by_name[name], *(() if name in kept else others)))
        choices.append(SettingChoice(name=name, options=tuple(options)))
    return tuple(c for c in choices if len(c.options) > 1 or c.name in CLAUSES)


def _regularisers(own: TrainingSettings) -> dict[str, Sequence[Value]]:
    if own.walk.cross_bias is not None:  # two graphs
        decays = [_round(0.3 * own.weight_decay), _round(3 * own.weight_decay)]
        return {"weight_decay": decays, PATH_LENGTH: PATH_LENGTHS}
    n3 = [_round(0.3 * own.n3), _round(3 * own.n3), 0.0] if own.n3 else FIRST_N3
    smoothings = SMOOTHINGS if own.n_negatives is None else ()
    return {"n3": n3, "label_smoothing": smoothings, PATH_LENGTH: PATH_LENGTHS}


def _choice(own: TrainingSettings, name: str, others: Sequence[Value]) -> SettingChoice:
    own_value = own.walk.length if name == PATH_LENGTH else getattr(own, name)
    options = dict.fromkeys((own_value, *others))  # each once, the own one first
    return SettingChoice(name=name, options=tuple(options))


def _round(value: float) -> float:
    return float(f"{value:.3g}")
