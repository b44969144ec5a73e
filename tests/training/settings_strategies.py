"""Random settings and experiments for tests."""

from dataclasses import replace

from hypothesis import strategies as st

from interstellar.data.splitting import SplitShares
from interstellar.paths.walk_settings import WalkRule, WalkSettings
from interstellar.runs.experiment import MAX_SEED, Experiment
from interstellar.training.presets import ALIGNMENT, LINK_PREDICTION
from interstellar.training.settings import Metric, Optimizer, Precision, TrainingSettings

biases = st.floats(0.5, 1, exclude_min=True, exclude_max=True)
positive = st.floats(0, 1e6, exclude_min=True)
counts = st.integers(1, 2**31 - 1)
names = st.text(min_size=1)

walks = st.builds(
    WalkSettings,
    length=st.integers(1, 2**15),
    paths_per_triplet=st.integers(1, 2**20),
    depth_bias=biases,
    cross_bias=st.none() | biases,
    rule=st.sampled_from(WalkRule),
)

all_settings = st.builds(
    TrainingSettings,
    dim=st.integers(1, 2**15).map(lambda half: 2 * half),
    batch_size=counts,
    learning_rate=positive,
    weight_decay=st.floats(0, 1e6),
    dropout=st.floats(0, 1, exclude_max=True),
    lr_decay=st.floats(0, 1, exclude_min=True),
    max_epochs=counts,
    validate_every=counts,
    patience=st.integers(0, 2**31 - 1),
    metric=st.sampled_from(Metric),
    gradient_norm=st.none() | positive,
    precision=st.sampled_from(Precision),
    n_negatives=st.none() | counts,
    optimizer=st.sampled_from(Optimizer),
    n3=st.floats(0, 1e6),
    max_norm=st.none() | positive,
    relation_prediction=st.floats(0, 1e6),
    walk=walks,
) | st.builds(
    replace,
    st.sampled_from([ALIGNMENT, LINK_PREDICTION]),
    label_smoothing=st.floats(0, 1, exclude_max=True),
)

splits = st.sampled_from(
    [
        SplitShares(train=0.9, valid=0.05, test=0.05),
        SplitShares(train=1.0, valid=0.0, test=0.0),
        SplitShares(train=1 / 3, valid=1 / 3, test=1 / 3),
    ]
)


@st.composite
def experiments(draw: st.DrawFn) -> Experiment:
    is_pair = draw(st.booleans())
    return Experiment(
        data=draw(names),
        second=draw(names) if is_pair else None,
        pairs=draw(names) if is_pair else None,
        split=draw(st.none() | splits),
        split_seed=draw(st.integers(0, MAX_SEED)),
        columns=draw(st.none() | st.tuples(names, names, names) | st.just((3, 1, 2))),
        labels=draw(st.booleans()),
        architecture=draw(names.filter(str.strip)),
        seed=draw(st.integers(0, MAX_SEED)),
        settings=draw(all_settings),
    )
