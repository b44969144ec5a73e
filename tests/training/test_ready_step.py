import pytest
import torch

from interstellar.architecture.literature import LITERATURE
from interstellar.errors import SettingsError
from interstellar.training.flat_parameters import FlatParameters
from interstellar.training.ready_step import ready_step, uses_mixed_precision
from interstellar.training.settings import Precision
from tests.training.test_step import ONE_WAY, TWO_WAY, build_network, draw_paths, small_settings


def test_a_step_is_tried_once_and_leaves_everything_as_it_was() -> None:
    network = build_network(LITERATURE["TransE"], TWO_WAY)
    parameters = FlatParameters(network, torch.device("cpu"))
    before = parameters.values.clone()

    step, compute = ready_step(network, draw_paths(8), small_settings(TWO_WAY, {}), parameters)

    torch.testing.assert_close(parameters.values, before, rtol=0, atol=0)
    step.begin_epoch(torch.arange(8), 0.01, dropout_seed=0)
    compute()
    assert not torch.equal(parameters.values, before)


def test_batch_normalisation_needs_two_paths() -> None:
    network = build_network(LITERATURE["TransE"], ONE_WAY)
    parameters = FlatParameters(network, torch.device("cpu"))

    with pytest.raises(SettingsError, match="at least two in a batch"):
        ready_step(network, draw_paths(1), small_settings(ONE_WAY, {}), parameters)


@pytest.mark.parametrize(
    ("precision", "device", "is_mixed"),
    [
        (Precision.AUTO, "cpu", False),
        (Precision.MIXED, "cuda", True),
        (Precision.AUTO, "cuda", True),
        (Precision.FLOAT32, "cuda", False),
    ],
)
def test_products_are_mixed_only_on_cuda(precision: Precision, device: str, is_mixed: bool) -> None:
    assert uses_mixed_precision(precision, torch.device(device)) is is_mixed


def test_mixed_precision_is_refused_where_there_are_no_kernels_for_it() -> None:
    with pytest.raises(SettingsError, match="cpu has no kernels for it"):
        uses_mixed_precision(Precision.MIXED, torch.device("cpu"))
