"""Synthetic graphs of any size, with rules planted in them.

The recipe. Entities live in neighbourhoods of about 50. Each premise relation of a rule
gives every entity x one object, most often of x's own neighbourhood, otherwise any entity;
inside a neighbourhood the draw is skewed (place ⌊size · u²⌋, u uniform), so that there are
hubs. The conclusions follow without exception:

    one hop     a(x, y)                       ⇒  b(x, y)
    two hops    c(x, y) ∧ d(y, z)             ⇒  e(x, z)
    three hops  g(x, y) ∧ h(y, z) ∧ i(z, w)   ⇒  f(x, w)

More triplets than that are made by more families of such rules with relations of their own,
the last of them only in some of the neighbourhoods; see `planted_rules`. Noise is triplets
with a random subject, any of the relations and an object drawn as above, evenly over the
blocks of subjects: it is where a rule has exceptions. Validation and test are conclusions
drawn at random, as many of each rule; all premises and the noise are in train, so whatever
has to be predicted can be.

Entities are numbered neighbourhood by neighbourhood, hubs first, and triplets stand in blocks
of about eighty neighbourhoods, shuffled within: what belongs together is close together, as
in most dumps of real graphs. So numbers tell what is near; nothing that learns may read them.

The pair. Two views of one such graph: each keeps a random part of its triplets (every entity
stays), adds noise of its own in place of the rest, shuffles them, and numbers and names
everything anew, at random: neither numbers nor order give a partner away.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from interstellar.data.graph import AnyGraph, Graph, GraphPair, KnowledgeGraph
from interstellar.data.synthetic_settings import (
    PlantedRule,
    SyntheticSettings,
    parse_settings,
    planted_rules,
    refuse_too_large,
)
from interstellar.data.triplets import (
    OBJECT,
    RELATION,
    SUBJECT,
    Triplets,
    distinct_triplets,
    no_triplets,
)
from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import DataError
from interstellar.randomness import spawn

GRAPH_NAME = "synthetic"
PAIR_NAME = "synthetic-alignment"
PAIR_ENTITIES = 100
"""Of each graph, where nothing else is said: any model learns them on a laptop within a minute."""

SEED_SHARE, VALID_SHARE = 0.30, 0.07
"""Of the pairs, as in the paper's sets: 4,500 and 1,050 of 15,000; the others are test."""

Ids = npt.NDArray[np.int32]
_NOTHING = -1
_TRAIN, _VALID, _TEST = 0, 1, 2
_BLOCK = 2**12
"""Subjects worked on together, so that temporaries stay in the cache whatever the size."""


def synthetic_graph(settings: SyntheticSettings) -> KnowledgeGraph:
    """Return the graph that the settings describe; the same settings give the same graph."""
    planted = _plant(settings)
    n_valid, n_test = (int(np.count_nonzero(planted.split_of == s)) for s in (_VALID, _TEST))
    sizes = (settings.n_triplets - n_valid - n_test, n_valid, n_test)
    train, valid, test = (np.empty((n, 3), dtype=np.int32) for n in sizes)
    n_done = [0, 0, 0]
    for rows, split_of_row in _draw_blocks(planted, settings):
        for split, output in enumerate((train, valid, test)):
            chosen = rows[split_of_row == split]
            output[n_done[split] : n_done[split] + len(chosen)] = chosen
            n_done[split] += len(chosen)
    return KnowledgeGraph(
        name=_describe(GRAPH_NAME, settings),
        entities=_numbered_names("e", settings.entities),
        relations=Vocabulary(_relation_names(settings)),
        train=train,
        valid=valid,
        test=test,
    )


def synthetic_pair(settings: SyntheticSettings) -> GraphPair:
    """Return two views of one synthetic graph, and which entities of theirs are the same."""
    common = np.concatenate([rows for rows, _ in _draw_blocks(_plant(settings), settings)])
    first, numbers_1 = _draw_view(common, settings, "first")
    second, numbers_2 = _draw_view(common, settings, "second")
    order = spawn(settings.seed, "synthetic pairs").permutation(settings.entities)
    pairs = np.stack([numbers_1[order], numbers_2[order]], axis=1)
    n_seeds = round(SEED_SHARE * len(pairs))
    n_known = n_seeds + round(VALID_SHARE * len(pairs))
    return GraphPair(
        name=_describe(PAIR_NAME, settings),
        source=first,
        target=second,
        train=pairs[:n_seeds],
        valid=pairs[n_seeds:n_known],
        test=pairs[n_known:],
    )


def is_synthetic(text: str) -> bool:
    """Return whether a name asks for a synthetic set, as `synthetic:entities=500` does."""
    return _base_name(text) in (GRAPH_NAME, PAIR_NAME)


def parse_synthetic(text: str) -> AnyGraph:
    """Return the set that `synthetic:entities=1000,seed=3` or `synthetic-alignment` names."""
    if not is_synthetic(text):
        raise DataError(
            f"{_base_name(text)!r} is no synthetic set. There are {GRAPH_NAME} and {PAIR_NAME}, "
            f"with settings as in {GRAPH_NAME}:entities=1000,seed=3."
        )
    is_pair, told = _base_name(text) == PAIR_NAME, text.partition(":")[2]
    settings = parse_settings(told, entities=PAIR_ENTITIES) if is_pair else parse_settings(told)
    refuse_too_large(settings)
    return synthetic_pair(settings) if is_pair else synthetic_graph(settings)


def _base_name(text: str) -> str:
    return text.partition(":")[0].strip().lower()


@dataclass(frozen=True, slots=True)
class _Planted:
    """All premises and conclusions, by place: entities before they are numbered."""

    object_of: Ids
    """(n_relations, n_entities): the object of each relation and subject, or `_NOTHING`."""
    split_of: npt.NDArray[np.int8]
    """(n_relations, n_entities)"""

    def rows_of(self, subjects: slice) -> tuple[Triplets, npt.NDArray[np.int8]]:
        """Return the triplets of some subjects, and the split of each."""
        objects = self.object_of[:, subjects]  # (n_relations, n_subjects)
        places = np.flatnonzero(objects != _NOTHING)
        relation, subject = np.divmod(places, objects.shape[1])
        rows = np.empty((len(places), 3), dtype=np.int32)
        rows[:, SUBJECT] = subject + subjects.start
        rows[:, RELATION] = relation
        rows[:, OBJECT] = objects[relation, subject]
        return rows, self.split_of[:, subjects][relation, subject]


def _plant(settings: SyntheticSettings) -> _Planted:
    """Draw the premises and draw the conclusions from them."""
    shape = (settings.n_relations, settings.entities)
    object_of = np.full(shape, _NOTHING, dtype=np.int32)
    split_of = np.zeros(shape, dtype=np.int8)
    links_rng = spawn(settings.seed, "synthetic links")
    split_rng = spawn(settings.seed, "synthetic split")
    for number, rule in enumerate(planted_rules(settings)):
        places = _places_of_rule(settings, number)
        _plant_rule(object_of, rule, places, settings, links_rng)
        n_held_out = max(1, round(settings.held_out * len(places)))
        drawn = split_rng.permutation(places)[: 2 * n_held_out]
        split_of[rule.conclusion, drawn[:n_held_out]] = _VALID
        split_of[rule.conclusion, drawn[n_held_out:]] = _TEST
    return _Planted(object_of, split_of)


def _places_of_rule(settings: SyntheticSettings, number: int) -> Ids:
    """Return where a rule holds: everywhere, or in a run of whole neighbourhoods.

    The runs of the three rules of a family start a third of the way round from one another,
    so that a sparse graph has rules for every entity.
    """
    places = np.arange(settings.entities, dtype=np.int32)
    family, rule_of_family = divmod(number, 3)
    if family < settings.n_full_families:
        return places
    n_neighbourhoods = settings.n_neighbourhoods
    start = rule_of_family * n_neighbourhoods // 3
    distance = (_neighbourhood_of(places, settings) - start) % n_neighbourhoods
    return places[distance < settings.n_partial_neighbourhoods]


def _plant_rule(
    object_of: Ids,
    rule: PlantedRule,
    places: Ids,
    settings: SyntheticSettings,
    rng: np.random.Generator,
) -> None:
    blocks = [places[block] for block in _blocks(len(places))]
    for subjects in blocks:
        for premise in rule.premises:
            object_of[premise, subjects] = _draw_objects(subjects, places, settings, rng)
    for subjects in blocks:
        reached = subjects
        for premise in rule.premises:
            reached = object_of[premise, reached]
        object_of[rule.conclusion, subjects] = reached


def _blocks(n: int) -> Iterator[slice]:
    for start in range(0, n, _BLOCK):
        yield slice(start, min(start + _BLOCK, n))


def _draw_objects(
    subjects: Ids, places: Ids | None, settings: SyntheticSettings, rng: np.random.Generator
) -> Ids:
    """Return an object for each subject, mostly near it, never itself; None: any place."""
    n, n_neighbourhoods = settings.entities, settings.n_neighbourhoods
    neighbourhood = _neighbourhood_of(subjects, settings)
    start, end = (-(-(neighbourhood + step) * n // n_neighbourhoods) for step in (0, 1))
    size = end - start
    skewed = np.square(rng.random(len(subjects), dtype=np.float32))
    near = np.minimum((size * skewed).astype(np.int64), size - 1)
    near += (near + start == subjects) & (size > 1)
    near = start + np.where(near == size, 0, near)
    n_places = settings.entities if places is None else len(places)
    far = rng.integers(n_places, size=len(subjects), dtype=np.int32)
    if places is not None:
        far = places[far]
    leaves = rng.random(len(subjects), dtype=np.float32) < settings.across
    return np.where(leaves & (far != subjects), far, near).astype(np.int32)


def _neighbourhood_of(places: Ids, settings: SyntheticSettings) -> npt.NDArray[np.int64]:
    return places.astype(np.int64) * settings.n_neighbourhoods // settings.entities


def _draw_blocks(
    planted: _Planted, settings: SyntheticSettings
) -> Iterator[tuple[Triplets, npt.NDArray[np.int8]]]:
    """Yield all triplets and their splits: those of one block of subjects after another."""
    n_noise = settings.n_triplets - int(np.count_nonzero(planted.object_of != _NOTHING))
    noise_rng = spawn(settings.seed, "synthetic noise")
    order_rng = spawn(settings.seed, "synthetic order")
    for subjects in _blocks(settings.entities):
        n_before, n_after = (
            n_noise * x // settings.entities for x in (subjects.start, subjects.stop)
        )
        noise = _draw_noise(n_after - n_before, subjects, planted, settings, noise_rng)
        rows, split = planted.rows_of(subjects)
        rows = np.concatenate([rows, noise])
        split = np.concatenate([split, np.full(len(noise), _TRAIN, dtype=np.int8)])
        order = order_rng.permutation(len(rows))
        yield rows[order], split[order]


def _draw_noise(
    n: int,
    subjects: slice,
    planted: _Planted,
    settings: SyntheticSettings,
    rng: np.random.Generator,
) -> Triplets:
    """Return `n` distinct triplets of some subjects that are not planted."""
    noise = no_triplets()
    while len(noise) < n:
        more = _draw_triplets(n - len(noise), subjects, settings, rng)
        is_new = planted.object_of[more[:, RELATION], more[:, SUBJECT]] != more[:, OBJECT]
        noise = distinct_triplets(np.concatenate([noise, more[is_new]]))
    return noise


def _draw_triplets(
    n: int, subjects: slice, settings: SyntheticSettings, rng: np.random.Generator
) -> Triplets:
    """Return `n` triplets of places, some of them perhaps equal."""
    rows = np.empty((n, 3), dtype=np.int32)
    rows[:, SUBJECT] = rng.integers(subjects.start, subjects.stop, size=n, dtype=np.int32)
    rows[:, RELATION] = rng.integers(settings.n_relations, size=n, dtype=np.int32)
    rows[:, OBJECT] = _draw_objects(rows[:, SUBJECT], None, settings, rng)
    return rows


def _draw_view(common: Triplets, settings: SyntheticSettings, which: str) -> tuple[Graph, Ids]:
    """Return a noisy view of the common triplets, and the number it gives to each place."""
    rng = spawn(settings.seed, f"synthetic {which} view")
    kept = common[_draw_kept(common, settings, rng)]
    n_own = round(len(kept) * (1 / settings.overlap - 1))
    own = _draw_triplets(n_own, slice(0, settings.entities), settings, rng)
    view = distinct_triplets(np.concatenate([kept, own]))
    subjects, relations, objects = view[rng.permutation(len(view))].T
    numbers = rng.permutation(np.arange(settings.entities, dtype=np.int32))
    relation_numbers = rng.permutation(np.arange(settings.n_relations, dtype=np.int32))
    renumbered = [numbers[subjects], relation_numbers[relations], numbers[objects]]
    letter = which[0]
    graph = Graph(
        entities=_numbered_names(f"{letter}_e", settings.entities),
        relations=_numbered_names(f"{letter}_r", settings.n_relations),
        triplets=np.stack(renumbered, axis=1),
    )
    return graph, numbers


def _draw_kept(
    common: Triplets, settings: SyntheticSettings, rng: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Return which rows a view keeps: a random part, and one row of each subject."""
    is_kept = rng.random(len(common), dtype=np.float32) < settings.overlap
    order = rng.permutation(len(common))
    row_of_subject = np.full(settings.entities, _NOTHING, dtype=np.int64)
    row_of_subject[common[order, SUBJECT]] = order
    is_kept[row_of_subject[row_of_subject != _NOTHING]] = True
    return is_kept


def _numbered_names(prefix: str, n: int) -> Vocabulary:
    """Return `e000`, `e001`, …, all of one length."""
    numbers = pc.cast(pa.array(np.arange(n, dtype=np.int64)), pa.string())
    padded = pc.utf8_lpad(numbers, width=len(str(n - 1)), padding="0")
    return Vocabulary(pc.binary_join_element_wise(prefix, padded, ""))


def _relation_names(settings: SyntheticSettings) -> list[str]:
    """Return `rule0_1hop_premise1`, `rule0_1hop_conclusion`, … in the order of the ids."""
    names = []
    for number, rule in enumerate(planted_rules(settings)):
        parts = [f"premise{place}" for place in range(1, rule.hops + 1)]
        names += [f"rule{number}_{rule.hops}hop_{part}" for part in (*parts, "conclusion")]
    return names


def _describe(name: str, settings: SyntheticSettings) -> str:
    """Return a name that `parse_synthetic` turns into the same set again."""
    values, default = asdict(settings), asdict(SyntheticSettings())
    shown = {key: values.pop(key) for key in ("entities", "seed")}
    shown |= {key: value for key, value in values.items() if value != default[key]}
    return f"{name}:" + ",".join(f"{key}={value}" for key, value in shown.items())
