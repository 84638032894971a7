"""``ImmutableArrayBackend``: the base class for a device whose arrays cannot be written.

tensorbus writes into arrays and makes views of them; a library of immutable arrays has neither.
Here an array is a *box*: a storage, which holds one immutable array and is given another when it
is written to, and the strides of a view of it. Functions of the library only ever see row-major
arrays without gaps. See ``docs/immutable-arrays.md``.
"""

from __future__ import annotations

from tensorbus.plugin.immutable_arrays.base import ImmutableArrayBackend
from tensorbus.plugin.immutable_arrays.boxes import Box

__all__ = ["Box", "ImmutableArrayBackend"]
