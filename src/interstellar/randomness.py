"""One seed in, one independent stream of random numbers per purpose out.

Adding a random draw in one place must not change another, so nothing in this
package shares a generator or seeds a global one: each purpose spawns its own.
"""

import hashlib

import numpy as np

from interstellar.errors import SettingsError


def spawn(seed: int, purpose: str) -> np.random.Generator:
    """Return the generator that belongs to `purpose` under `seed`."""
    return np.random.default_rng(derive_key(seed, purpose))


def derive_key(seed: int, purpose: str) -> int:
    """Return 64 well-mixed bits that differ for every seed and purpose."""
    if seed < 0:
        raise SettingsError(f"seed {seed} is negative. A seed is a whole number from 0 up.")
    digest = hashlib.blake2b(f"{seed}:{purpose}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")
