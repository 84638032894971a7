"""L0 cases of the optional view kernels: each must say what ``as_strided`` says."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus.plugin import VIEWS, dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.storage import expect_layout
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Trial, Unsupported

FAMILY = "views"
SHAPE = (4, 1, 6)

# Arguments, what they do to a NumPy array, and whether the backend needs negative strides.
CALLS: dict[str, list[tuple[tuple[Any, ...], Any, bool]]] = {
    "permute": [(((2, 0, 1),), lambda a: a.transpose(2, 0, 1), False),
                (((0, 1, 2),), lambda a: a, False)],
    "view": [(((2, 2, 6),), lambda a: a.reshape(2, 2, 6), False),
             (((4, 1, 1, 6),), lambda a: a.reshape(4, 1, 1, 6), False),
             (((24,),), lambda a: a.reshape(24), False)],
    "expand": [(((4, 5, 6),), lambda a: np.broadcast_to(a, (4, 5, 6)), False),
               (((3, 4, 1, 6),), lambda a: np.broadcast_to(a, (3, 4, 1, 6)), False)],
    "slice": [((0, 1, 3, 1), lambda a: a[1:3], False),
              ((2, 1, 6, 2), lambda a: a[:, :, 1:6:2], False),
              ((2, 5, 0, -2), lambda a: a[:, :, 5:0:-2], True),
              ((0, 3, None, -1), lambda a: a[::-1], True)],
    "select": [((0, 2), lambda a: a[2], False), ((2, 5), lambda a: a[:, :, 5], False)],
    "leading": [((slice(1, 3),), lambda a: a[1:3], False),
                ((slice(None),), lambda a: a, False),
                ((slice(-2, None),), lambda a: a[-2:], False),
                ((slice(None, -1, 2),), lambda a: a[:-1:2], False),
                ((slice(0, 99, 3),), lambda a: a[0:99:3], False)],
    "transpose": [((0, 2), lambda a: a.swapaxes(0, 2), False),
                  ((-1, 1), lambda a: a.swapaxes(-1, 1), False)],
    "unsqueeze": [((0,), lambda a: a[None], False), ((3,), lambda a: a[..., None], False)],
}  # fmt: skip


def check(view: str, dtype: dtype, layout: str, t: Trial) -> None:
    """Values, layout and storage of the view are those that ``as_strided`` would give."""
    kernel = t.device.kernel(view, dtype)
    if kernel is None:
        raise Unsupported(f"no {view} kernel: the default over as_strided is used")
    for arguments, mirror, negative in CALLS[view]:
        if negative and not t.traits.negative_strides:
            continue
        if view == "view" and layout == "strided" and arguments[0] == (24,):
            continue  # would need a copy, which the frontend makes
        placed = t.place(values.plain(dtype, SHAPE, "views"), dtype, layout)
        found = kernel(placed.array, *arguments)
        offsets = _Offsets(placed.strides, placed.offset)
        want, strides, offset = offsets.apply(mirror)
        t.exact(t.read(found, dtype, want.shape), mirror(placed.values), dtype)
        expect_layout(t, found, dtype, strides, offset)
        if t.backend.layout(found, dtype)[0] != t.backend.layout(placed.array, dtype)[0]:
            raise Mismatch(f"{view}{arguments} gave an array with another storage")


class _Offsets:
    """Finds the strides of a view by doing it to a NumPy array of the same layout."""

    def __init__(self, strides: tuple[int, ...], offset: int):
        # The bytes of a one-byte array count elements.
        reach = offset + sum((n - 1) * s for n, s in zip(SHAPE, strides, strict=True)) + 1
        self.base = np.zeros(reach, np.uint8)
        self.array = np.lib.stride_tricks.as_strided(self.base[offset:], SHAPE, strides)

    def apply(self, mirror: Any) -> tuple[np.ndarray, tuple[int, ...], int]:
        view = mirror(self.array)
        start = view.__array_interface__["data"][0] - self.base.__array_interface__["data"][0]
        return view, view.strides, start


def cases() -> Iterator[Case]:
    """Every case of a view kernel."""
    for view in VIEWS:
        for d in (formats.FLOAT32, formats.UINT8, formats.BOOL):
            for layout in ("contiguous", "strided", "offset"):
                function = functools.partial(check, view, d, layout)
                yield Case(f"L0/view-{view}/{d.name}/{layout}", FAMILY, function, (d,))
