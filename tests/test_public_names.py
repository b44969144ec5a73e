"""The names that `import interstellar` offers."""

from importlib.metadata import version

import pytest

import interstellar
from tests.imported_modules import list_imported


def test_public_names_are_sorted_complete_and_there() -> None:
    assert interstellar.__all__ == sorted(interstellar.__all__) == dir(interstellar)
    assert all(getattr(interstellar, name) is not None for name in interstellar.__all__)


@pytest.mark.parametrize(("before", "now"), [("Found", "SearchResult"), ("Split", "SplitShares")])
def test_a_name_of_version_0_1_is_the_one_of_today_and_says_so(before: str, now: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"{before} is now called {now}"):
        assert getattr(interstellar, before) is getattr(interstellar, now)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'seearch'"):
        _ = interstellar.seearch


def test_the_version_is_that_of_the_installed_package() -> None:
    assert interstellar.__version__ == version("interstellar-kg")


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert list_imported("import interstellar", "torch", "numpy", "pyarrow", "typer") == []
