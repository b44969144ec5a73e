"""Experiments and the TOML files that say them."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interstellar.errors import SettingsError
from interstellar.runs.experiment import (
    Experiment,
    experiment_text,
    parse_experiment,
    read_experiment,
    read_settings,
    settings_tables,
)
from interstellar.training.defaults import PROPAGATION
from interstellar.training.presets import ALIGNMENT, LINK_PREDICTION
from interstellar.training.settings import (
    LATER_SETTINGS,
    Metric,
    Optimizer,
    TrainingSettings,
)
from interstellar.training.settings_changes import replace_settings
from tests.training.settings_strategies import all_settings, experiments

EXAMPLE = Experiment(data="WN18RR", architecture="TransE", seed=3, settings=LINK_PREDICTION)
TEXT = experiment_text(EXAMPLE)


@given(experiments())
def test_an_experiment_comes_back_from_its_text(experiment: Experiment) -> None:
    assert parse_experiment(experiment_text(experiment)) == experiment


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(wanted=all_settings, base=st.sampled_from([ALIGNMENT, LINK_PREDICTION]))
def test_a_settings_file_with_every_key_decides_everything(
    tmp_path: Path, wanted: TrainingSettings, base: TrainingSettings
) -> None:
    path = tmp_path / "settings.toml"
    experiment = Experiment(data="a", architecture="TransE", seed=0, settings=wanted)
    path.write_text("[training]" + experiment_text(experiment).partition("[training]")[2])

    assert read_settings(path, base) == wanted


def test_a_file_is_read_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "wn18rr.toml"

    for encoding in ("utf-8", "utf-8-sig"):
        path.write_text(TEXT, encoding=encoding)
        assert read_experiment(path) == EXAMPLE


KEYS = [line.split()[0] for line in TEXT.splitlines() if " = " in line]


@pytest.mark.parametrize("key", [key for key in KEYS if key not in LATER_SETTINGS])
def test_a_missing_key_is_named_with_its_file_and_table(key: str) -> None:
    with pytest.raises(SettingsError, match=rf"^wn\.toml:( \[\w+\])? {key} is missing"):
        parse_experiment(without_key(TEXT, key), "wn.toml")


def without_key(text: str, key: str) -> str:
    return re.sub(rf"^{key} = .*\n", "", text, count=1, flags=re.MULTILINE)


def test_settings_that_came_later_are_missing_in_older_files_and_have_their_defaults() -> None:
    text = TEXT
    for key in LATER_SETTINGS:
        text = without_key(text, key)

    assert text != TEXT
    assert parse_experiment(text) == EXAMPLE


def test_what_a_settings_file_does_not_say_is_as_in_the_base_also_of_later_settings(
    tmp_path: Path,
) -> None:
    path, base = tmp_path / "s.toml", replace(ALIGNMENT, n3=0.5)
    path.write_text("[training]\ndim = 32\n")

    assert read_settings(path, base) == replace(base, dim=32)


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ("learning_rate =", "learnig_rate =", r"\[training\] learnig_rate .* learning_rate\?"),
        ("length =", "lengths =", r"\[paths\] lengths is not a key .* Did you mean length\?"),
        ("source =", "sauce =", r"\[data\] sauce is not a key .* Did you mean source\?"),
        ("seed =", "walk = 1\nseed =", r"wn\.toml: walk is not a key .* Known are version"),
        ("dim = 256", 'walk = "x"\ndim = 256', r"\[training\] walk is not a key"),
    ],
)
def test_an_unknown_key_is_refused_with_the_one_that_was_meant(
    good: str, bad: str, message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        parse_experiment(TEXT.replace(good, bad, 1), "wn.toml")


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ("dim = 256", 'dim = "256"', r"\[training\] dim is '256', but it must be a whole number\."),
        ("dim = 256", "dim = 256.0", r"\[training\] dim is 256.0, but it must be a whole"),
        ("dim = 256", "dim = true", r"\[training\] dim is True, but"),
        ("dim = 256", "dim = 255", r"^wn\.toml: \[training\] dim is 255, but .* even"),
        (
            "weight_decay = 1e-06",
            'weight_decay = "none"',
            r"\[training\] weight_decay is 'none', but it must be a number\.",
        ),
        ("weight_decay = 1e-06", "weight_decay = nan", r"\[training\] weight_decay is nan, but"),
        ("weight_decay = 1e-06", "weight_decay = inf", r"\[training\] weight_decay is inf, but"),
        ("weight_decay = 1e-06", "weight_decay = 1e400", r"\[training\] weight_decay is inf, but"),
        ('= "mrr"', '= "MRR"', r"\[training\] metric is 'MRR', .* hits@1, mrr, auc_pr"),
        ('gradient_norm = "none"', "gradient_norm = []", r'must be a number, or "none"\.'),
        ("depth_bias = 0.7", "depth_bias = 0.3", r"^wn\.toml: \[paths\] depth_bias is 0.3, but"),
        ("seed = 3", "seed = -3", r"^wn\.toml: seed is -3, but"),
        ("seed = 3", "seed = 3e0", r"wn\.toml: seed is 3.0, but"),
        ('"TransE"', '" "', r"wn\.toml: .*architecture ' '"),
        ('"TransE"', "7", r"wn\.toml: architecture is 7, but it must be text"),
        ("version = 1", "version = 2", r"version is 2, .* Use a newer interstellar"),
        ("[data]", "[data]\nsplit = [0.5]", r"\[data\] split is \[0.5\], but .* three"),
        ("[data]", "[data]\nsplit = [0.5, 0.5, 0.5]", r"\[data\] split: .*add up to 1"),
        ("[data]", '[data]\nsplit = [1, "0", 0]', r"\[data\] split is '0', but"),
        ("[data]", "[data]\ncolumns = [1.5]", r"\[data\] columns is \[1.5\], .* in brackets"),
        ("[data]", '[data]\ncolumns = "from"', r"\[data\] columns is from, but"),
        ("[data]", "[data]\nlabels = 1", r"\[data\] labels is 1, .* true or false"),
        ("[data]", '[data]\npairs = "p"', r"wn\.toml: a second graph and a file .* together"),
        ("version = 1", "paths = 1\nversion = 1", r"wn\.toml is not TOML: .*line \d+"),
    ],
)
def test_a_value_that_cannot_be_meant_is_named_with_file_table_and_key(
    good: str, bad: str, message: str
) -> None:
    assert good in TEXT

    with pytest.raises(SettingsError, match=message):
        parse_experiment(TEXT.replace(good, bad, 1), "wn.toml")


@pytest.mark.parametrize("table", ["data", "training", "paths"])
def test_a_value_where_a_table_is_meant_is_refused(table: str) -> None:
    before, _, after = TEXT.partition(f"\n[{table}]\n")
    rest = after.partition("\n\n")[2]

    with pytest.raises(SettingsError, match=rf"\[{table}\] must be a table"):
        parse_experiment(f"{table} = 1\n{before}\n{rest}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"= 1", r"x\.toml is not TOML"),
        (b"\xff", r"x\.toml: byte 0 is not UTF-8"),
        (b"a = " + b"[" * 100_000, r"x\.toml is not TOML"),
        (b"#" * 2**18 + b"#", r"x\.toml has more than 262,144 bytes"),
        (b"", r"x\.toml: version is missing"),
    ],
)
def test_a_file_that_is_no_experiment_is_refused(
    tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "x.toml").write_bytes(content)

    with pytest.raises(SettingsError, match=message):
        read_experiment(tmp_path / "x.toml")


def test_a_missing_file_is_refused_with_where_there_are_some(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"does not exist.*experiments/"):
        read_experiment(tmp_path / "none.toml")


def test_a_settings_file_changes_only_what_it_names(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('[training]\ndim = 32\nmetric = "auc_pr"\n[paths]\ncross_bias = "none"\n')

    changed = read_settings(path, ALIGNMENT)

    assert changed == replace(
        ALIGNMENT, dim=32, metric=Metric.AUC_PR, walk=replace(ALIGNMENT.walk, cross_bias=None)
    )
    path.write_text("")
    assert read_settings(path, ALIGNMENT) == ALIGNMENT


def test_settings_are_read_under_the_names_that_version_0_1_had(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('[training]\nl2 = 0.5\ndecay = 0.25\nselection = "auc_pr"\n')

    changed = read_settings(path, ALIGNMENT)

    assert changed == replace(ALIGNMENT, weight_decay=0.5, lr_decay=0.25, metric=Metric.AUC_PR)


def test_a_settings_file_may_be_that_of_a_whole_experiment(tmp_path: Path) -> None:
    path = tmp_path / "whole.toml"
    path.write_text(experiment_text(replace(EXAMPLE, settings=replace(LINK_PREDICTION, dim=32))))

    assert read_settings(path, LINK_PREDICTION) == replace(LINK_PREDICTION, dim=32)


def test_the_settings_of_an_older_experiment_are_as_it_was_trained_and_not_as_is_usual_now(
    tmp_path: Path,
) -> None:
    text = experiment_text(replace(EXAMPLE, settings=ALIGNMENT))
    shorter = [line for line in text.splitlines() if not line.startswith(LATER_SETTINGS)]
    path = tmp_path / "whole.toml"
    path.write_text("\n".join(shorter))

    usual = replace(LINK_PREDICTION, optimizer=Optimizer.ADAGRAD, n3=0.1, max_norm=None)

    assert len(shorter) == len(text.splitlines()) - len(LATER_SETTINGS)
    assert read_settings(path, usual) == read_experiment(path).settings == ALIGNMENT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dim = 32", r"s\.toml: dim is not a key .* Known are training, paths"),
        ("[trainings]", r"s\.toml: trainings is not a key .* Did you mean training\?"),
        ("[training]\ndim = 31", r"s\.toml: \[training\] dim is 31"),
        ("[paths]\nlength = 0", r"s\.toml: \[paths\] length is 0"),
        ("paths = 3", r"s\.toml: \[paths\] must be a table"),
    ],
)
def test_a_settings_file_is_checked_like_an_experiment(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "s.toml").write_text(text)

    with pytest.raises(SettingsError, match=message):
        read_settings(tmp_path / "s.toml", ALIGNMENT)


def test_a_path_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(SettingsError, match="not Unicode"):
        experiment_text(replace(EXAMPLE, data="file\udce9.tsv"))


def test_settings_are_plain_values_for_a_result_file() -> None:
    tables = settings_tables(ALIGNMENT)

    assert json.loads(json.dumps(tables)) == tables
    assert tables["training"]["gradient_norm"] == 5.0
    assert tables["paths"]["rule"] == "program"


def test_how_a_cell_is_propagated_is_a_table_of_its_own(tmp_path: Path) -> None:
    experiment = replace(EXAMPLE, settings=PROPAGATION)
    text = experiment_text(experiment)

    assert "[propagation]\naggregation = " in text
    assert "[propagation]" not in TEXT
    assert parse_experiment(text) == experiment
    path = tmp_path / "s.toml"
    path.write_text("[propagation]\ndepth = 3\n")
    assert read_settings(path, PROPAGATION) == replace_settings(PROPAGATION, {"depth": 3})
    path.write_text(TEXT)
    assert read_settings(path, PROPAGATION).propagation is None
    with pytest.raises(SettingsError, match=r"\[propagation\] depht .* depth\?"):
        parse_experiment(text.replace("\ndepth =", "\ndepht ="))
