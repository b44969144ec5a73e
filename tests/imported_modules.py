"""Which modules a program imports."""

import json
import subprocess
import sys


def list_imported(code: str, *modules: str) -> list[str]:
    """Return which of some modules have been imported when a program of this code ends."""
    said = f"import json, sys; print(json.dumps([m for m in {modules} if m in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{said}"], capture_output=True, text=True, check=True
    )
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found
