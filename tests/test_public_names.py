"""The names that `import interstellar` offers."""

import subprocess
import sys
from importlib.metadata import version

import interstellar


def test_public_names_are_sorted_complete_and_there() -> None:
    assert interstellar.__all__ == sorted(interstellar.__all__)
    assert set(interstellar.__all__) == set(interstellar._MODULE_BY_NAME)
    assert all(getattr(interstellar, name) is not None for name in interstellar.__all__)


def test_the_version_is_that_of_the_installed_package() -> None:
    assert interstellar.__version__ == version("interstellar-kg")


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, interstellar;"
        "print([m for m in ('torch', 'numpy', 'pyarrow', 'typer') if m in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
