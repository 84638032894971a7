"""``tensorbus.sparse``: the types of sparse tensors, by which no tensor can be made yet.

>>> import tensorbus as torch
>>> isinstance(torch.ones(2), torch.sparse.FloatTensor)
False
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus.ops.creation.typed_constructors import DeviceNamespace as _DeviceNamespace

if not TYPE_CHECKING:
    _types = _DeviceNamespace("cpu", sparse=True)
    __getattr__ = _attributes(__name__, None, lambda name: getattr(_types, name, None))
