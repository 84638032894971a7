"""``torch.types``: types by which libraries annotate arguments.

>>> import tensorbus
>>> isinstance(2.5, tensorbus.types.Number)
True
"""

import builtins
import os
from collections.abc import Sequence
from typing import TypeAlias

import tensorbus
from tensorbus import Size as _Size
from tensorbus import SymBool, SymFloat, SymInt, Tensor, device, dtype, layout

__all__ = ["Device", "FileLike", "Number", "Storage"]

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge: TypeAlias = Tensor | Sequence[Tensor]
_bool, _int, _float, _complex = builtins.bool, builtins.int, builtins.float, builtins.complex
_device, _dtype, _layout = device, dtype, layout
_qscheme = type(None)
_size: TypeAlias = _Size | list[builtins.int] | tuple[builtins.int, ...]
_symsize: TypeAlias = _Size | Sequence[builtins.int | SymInt]
_dispatchkey: TypeAlias = str

IntLikeType: TypeAlias = builtins.int | SymInt
FloatLikeType: TypeAlias = builtins.float | SymFloat
BoolLikeType: TypeAlias = builtins.bool | SymBool
Number: TypeAlias = builtins.int | builtins.float | builtins.bool
FileLike: TypeAlias = str | os.PathLike[str]
Device: TypeAlias = device | str | builtins.int | None
Storage = tensorbus.UntypedStorage
