"""L0 cases of memory that others use too: by DLPack in a process, by handles in others."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Iterator
from multiprocessing.reduction import ForkingPickler

import numpy as np

import tensorbus
from tensorbus import discovery, multiprocessing
from tensorbus.plugin import Exporter, dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.bench import Bench
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Trial, Unsupported

FAMILY = "runtime"
VERSIONS = None, (1, 0)


def check_dlpack(d: dtype, version: tuple[int, int] | None, t: Trial) -> None:
    """An array that goes out and comes back is a view of the same memory, in the same layout."""
    pair = t.backend.dlpack_device(t.index)
    if pair is None:
        raise Unsupported("dlpack_device is not offered")
    host = formats.encode(values.plain(d, (4, 3), "dlpack"), d)
    whole = t.backend.from_host(host, d, t.index)
    out = t.backend.as_strided(whole, (3, 2), (1, 6), 0, d, d)
    expected = formats.decode(np.array(host), d)[::2].T

    source = Exporter(t.backend.to_dlpack(out, d, -1, version, None), pair)
    if source.__dlpack_device__() != pair:
        raise Mismatch(f"the exporter says {source.__dlpack_device__()}, dlpack_device {pair}")
    back = t.backend.from_dlpack(source, t.index, None)
    if back is None:
        raise Mismatch("to_dlpack is offered, and from_dlpack gave None")
    found = source.found
    if (found.device, found.dtype, found.shape, found.strides) != (pair, d, (3, 2), (1, 6)):
        raise Mismatch(f"the capsule says {found}")
    if back.dtype is not d or not back.writable:
        raise Mismatch(f"from_dlpack gave {back.dtype} and writable={back.writable}")
    if tuple(t.backend.layout(back.array, d)[2]) != (1, 6):
        raise Mismatch(f"from_dlpack's strides are {t.backend.layout(back.array, d)[2]}")
    t.exact(t.read(back.array, d, (3, 2)), expected, d)

    copied = t.backend.to_dlpack(out, d, -1, version, True)
    t.backend.copy_(back.array, d, 1, None)
    del back
    t.exact(t.read(out, d, (3, 2)), np.ones_like(expected), d)
    del out, whole
    kept = t.backend.from_dlpack(Exporter(copied, pair), t.index, None)
    del copied
    if kept is None:
        raise Mismatch("from_dlpack gave None for a copy")
    t.exact(t.read(kept.array, d, (3, 2)), expected, d)


def check_handles(t: Trial) -> None:
    """What is sent by a handle of its storage, and comes back, is a view of the same memory."""
    if discovery.offered(t.backend, "export_storage") is None:
        raise Unsupported("export_storage is not offered")
    multiprocessing.reductions.init_reductions()
    x = tensorbus.arange(6.0, device=Bench(t).device).reshape(2, 3)
    for sent in (x, x.t(), x[1:, ::2]):
        handle = t.backend.export_storage(sent._a, formats.FLOAT32)
        if not isinstance(handle, bytes) or not handle:
            raise Mismatch(f"export_storage gave {handle!r}, not bytes")
        back = pickle.loads(ForkingPickler.dumps(sent))
        if (back.shape, back.stride()) != (sent.shape, sent.stride()):
            raise Mismatch(f"{back.shape}, {back.stride()} came back of {sent.stride()}")
        back += 1
        if back.tolist() != sent.tolist():
            raise Mismatch("what came back is not the memory that was sent")


def cases() -> Iterator[Case]:
    """The cases of DLPack, for each dtype and both versions of the protocol, and of handles."""
    yield Case("L0/handles/float32/back", FAMILY, check_handles, (formats.FLOAT32,))
    for d in formats.ALL:
        for version in VERSIONS:
            name = "versioned" if version else "unversioned"
            check = functools.partial(check_dlpack, d, version)
            yield Case(f"L0/dlpack/{d.name}/{name}", FAMILY, check, (d,))
