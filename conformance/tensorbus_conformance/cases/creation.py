"""L1 cases of ``arange`` and ``random_bits``."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from tensorbus.plugin import dtype
from tensorbus_conformance import formats
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.primitives import whole_domain
from tensorbus_conformance.trial import Trial

FAMILY = "create"

# The first block of Philox4x64-10 for three keys and counters, from the published test vectors.
KNOWN_BLOCKS = (
    ((0, 0), 0,
     (0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B)),
    ((2**64 - 1, 2**64 - 1), 2**256 - 1,
     (0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0)),
    ((0x452821E638D01377, 0xBE5466CF34E90C6C),
     0x243F6A8885A308D3 | 0x13198A2E03707344 << 64 | 0xA4093822299F31D0 << 128
     | 0x082EFA98EC4E6C89 << 192,
     (0xA528F45403E61D95, 0x38C72DBD566E9788, 0xA5A1610E72FD18B5, 0x57BD43B5E52B7FE6)),
)  # fmt: skip

STREAMS = {
    "plain": ((1234, 0), 0, 4099),
    "one": ((7, 0), 3, 1),
    "odd": ((7, 0), 5, 6),
    "key": ((2**64 - 1, 2**63 + 5), 11, 17),
    "carry64": ((42, 0), 2**64 - 2, 23),
    "carry128": ((42, 9), 2**128 - 1, 23),
    "carry192": ((42, 9), 2**192 - 3, 23),
    "around": ((5, 5), 2**256 - 2, 23),
    "seed0": ((0, 0), 1, 1000),
}


def stream(key: tuple[int, int], offset: int, n: int) -> np.ndarray:
    """The words by NumPy's generator, which advances before its first block."""
    generator = np.random.Philox(counter=(offset - 1) % 2**256, key=key[0] | key[1] << 64)
    return generator.random_raw(n).astype(np.uint64).view(np.int64)


def check_stream(name: str, t: Trial) -> None:
    """Bit for bit the words of the stream, whatever the offset carries into."""
    key, offset, n = STREAMS[name]
    got = t.result(t.kernel("random_bits", formats.INT64)(key, offset, n), formats.INT64, (n,))
    t.exact(got, stream(key, offset, n), formats.INT64)


def check_known(number: int, t: Trial) -> None:
    """The published test vectors."""
    key, offset, words = KNOWN_BLOCKS[number]
    got = t.read(t.kernel("random_bits", formats.INT64)(key, offset, 4), formats.INT64, (4,))
    t.exact(got, np.array(words, np.uint64).view(np.int64), formats.INT64)


def check_jump(t: Trial) -> None:
    """The stream from a later offset is the rest of the stream from an earlier one."""
    kernel = t.kernel("random_bits", formats.INT64)
    whole = t.read(kernel((3, 4), 100, 40), formats.INT64)
    rest = t.read(kernel((3, 4), 106, 16), formats.INT64)
    t.exact(rest, whole[24:], formats.INT64)


def check_state(t: Trial) -> None:
    """Kernels hold no state: a call in between changes nothing."""
    kernel = t.kernel("random_bits", formats.INT64)
    first = t.read(kernel((3, 4), 7, 33), formats.INT64)
    kernel((99, 1), 2**70, 5)
    again = t.read(kernel((3, 4), 7, 33), formats.INT64)
    if first.tobytes() != again.tobytes():
        raise Mismatch("the same key and offset gave other words the second time")


RANGES = {
    "up": (7, 3, 2), "down": (9, 100, -7), "one": (1, 5, 3), "still": (4, 6, 0),
    "long": (1000, -20, 1),
}  # fmt: skip
FLOAT_RANGES = {
    "tenths": (11, 0.0, 0.1), "thirds": (1000, -1.0, 1 / 3), "minus": (8, 0.5, -0.25),
    "far": (257, 1e6, 0.7),
}  # fmt: skip


def check_range(d: dtype, n: int, start: int, step: int, t: Trial) -> None:
    """Integers: start + i * step, wrapped into the dtype."""
    got = t.result(t.kernel("arange", d)(n, start, step, t.token(d)), d, (n,))
    whole = [start + i * step for i in range(n)]
    if d in formats.INTS:
        whole = [formats.wrap(v, d) for v in whole]
    t.exact(
        got, formats.round_to(np.array(whole, np.float64 if d in formats.FLOATS else None), d), d
    )


def check_float_range(d: dtype, n: int, start: float, step: float, t: Trial) -> None:
    """Floats: start + i * step in float64, rounded once, never by repeated addition."""
    got = t.result(t.kernel("arange", d)(n, start, step, t.token(d)), d, (n,))
    i = np.arange(n)
    if formats.FLOAT64 in t.capabilities.dtypes:
        t.exact(got, formats.round_to(start + i * step, d), d, zeros=False)
        return
    single = np.float32(start) + i.astype(np.float32) * np.float32(step)
    size = np.abs(np.float32(start)) + np.abs(i * np.float32(step))
    t.near(got, single.astype(np.float64), 2.0**-22 * size, d)


def check_limits(t: Trial) -> None:
    """int64 beyond what a float64 holds exactly."""
    d = formats.INT64
    got = t.read(t.kernel("arange", d)(5, 2**62 + 1, 3, t.token(d)), d, (5,))
    t.exact(got, np.array([2**62 + 1 + 3 * i for i in range(5)]), d)


def cases() -> Iterator[Case]:
    """Every case of a kernel that makes an array from nothing."""
    part = functools.partial
    for name in STREAMS:
        yield Case(f"L1/random_bits/int64/{name}", FAMILY, part(check_stream, name))
    for number in range(len(KNOWN_BLOCKS)):
        yield Case(f"L1/random_bits/int64/known{number}", FAMILY, part(check_known, number))
    yield Case("L1/random_bits/int64/jump", FAMILY, check_jump)
    yield Case("L1/random_bits/int64/stateless", FAMILY, check_state)
    for d in whole_domain("arange"):
        for name, (n, start, step) in RANGES.items():
            check = part(check_range, d, n, start, step)
            yield Case(f"L1/arange/{d.name}/{name}", FAMILY, check, (d,))
    for d in formats.FLOATS:
        for name, (n, first, by) in FLOAT_RANGES.items():
            check_float = part(check_float_range, d, n, first, by)
            yield Case(f"L1/arange/{d.name}/{name}", FAMILY, check_float, (d,))
    yield Case("L1/arange/int64/beyond-float64", FAMILY, check_limits)
