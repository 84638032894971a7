"""What the namespace says of itself: dtypes, devices, capabilities."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus import discovery
from tensorbus._base.dtypes import dtype as Dtype
from tensorbus._dispatch.kinds import canonical, kind_of
from tensorbus.array_api.data_types import KINDS

NAMES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
).split()
"""The standard's dtypes."""


class Info:
    """The standard's inspection of a namespace.

    >>> from tensorbus import array_api as xp
    >>> xp.__array_namespace_info__().default_dtypes()["integral"]
    torch.int64
    """

    def capabilities(self) -> dict[str, Any]:
        """That shapes may hang on values, and how many dimensions arrays have at most."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        """The device of new arrays."""
        return canonical(tensorbus.get_default_device())

    def default_dtypes(self, *, device: Any = None) -> dict[str, Dtype]:
        """The dtypes of new arrays of floats, complex numbers, integers and indices."""
        d = tensorbus.get_default_dtype()
        return {
            "real floating": d,
            "complex floating": d.to_complex(),
            "integral": tensorbus.int64,
            "indexing": tensorbus.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Dtype]:
        """The standard's dtypes that a device computes in, of all kinds or of some."""
        where = tensorbus.device(self.default_device() if device is None else device)
        k = kind_of(where, tensorbus.float32)
        kinds = (kind,) if isinstance(kind, str) else kind or ("bool", "numeric")
        for name in kinds:
            if name not in KINDS:
                raise ValueError(f"dtypes(): {name!r} is no kind; there are {', '.join(KINDS)}")
        found = {d.name: d for d in k.known_dtypes if d.name in NAMES and d.computes}
        return {n: found[n] for n in NAMES if n in found and any(KINDS[i](found[n]) for i in kinds)}

    def devices(self) -> list[Any]:
        """The devices here that can be used."""
        found = []
        for name in discovery.backend_names():
            try:
                backend = discovery.backend(name)
                count = backend.device_count() if backend.traits.has_values else 0
            except RuntimeError:
                continue
            found += [tensorbus.device(name) if name == "cpu" else tensorbus.device(name, i)
                      for i in range(count)]  # fmt: skip
        return found
