"""What commands that train have in common."""

import os
import signal

import pytest

from interstellar.cli.experiment_options import stop_on_sigterm


def test_sigterm_is_taken_for_ctrl_c() -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        stop_on_sigterm()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
