"""Random numbers computed from their place: path, step and round.

The n-th number of SplitMix64 (Steele, Lea and Flood, 2014) needs no other number of the stream.
So a path is the same whatever chunk, thread or device it is sampled on. Tensors of int64 stand
for unsigned integers: products wrap around, and shifts are made logical by a mask.
"""

import torch
from torch import Tensor

_STEP_BITS = 16
_ROUND_BITS = 8
MAX_STEP = 2**_STEP_BITS - 1
MAX_ROUND = 2**_ROUND_BITS - 1

_GAMMA = 0x9E3779B97F4A7C15


def path_states(key: int, paths: Tensor) -> Tensor:
    """Return the state of each path's part of the stream that `key` (64 bits) opens.

    `paths` are path numbers under 2⁴⁰, int64 of any shape.
    """
    return paths * _signed(_GAMMA << (_STEP_BITS + _ROUND_BITS)) + _signed(key)


def uniform(states: Tensor, *, step: int, round: int) -> Tensor:
    """Return one float64 from [0, 1) for each path, a multiple of 2⁻⁵³."""
    assert 0 <= step <= MAX_STEP
    assert 0 <= round <= MAX_ROUND
    z = states + _signed(_GAMMA * (step << _ROUND_BITS | round))
    shifted = torch.empty_like(z)
    _xor_shift_(z, 30, shifted).mul_(_signed(0xBF58476D1CE4E5B9))
    _xor_shift_(z, 27, shifted).mul_(_signed(0x94D049BB133111EB))
    _xor_shift_(z, 31, shifted)
    torch.bitwise_right_shift(z, 11, out=shifted).bitwise_and_(2**53 - 1)
    return shifted.double().mul_(2.0**-53)


def _xor_shift_(z: Tensor, bits: int, shifted: Tensor) -> Tensor:
    torch.bitwise_right_shift(z, bits, out=shifted).bitwise_and_(2 ** (64 - bits) - 1)
    return z.bitwise_xor_(shifted)


def _signed(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63
