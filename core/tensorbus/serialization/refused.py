"""Names in files that are refused: of tensors that are not here, and what nobody has allowed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NoReturn

from tensorbus.serialization.errors import CheckpointError, UnsafeCheckpointError, escaped

_ADVICE = (
    (
        r"torch\.(_utils\._rebuild_qtensor|(ao\.)?(nn\.)?(intrinsic\.)?quantiz\w+\..*"
        r"|(cuda\.)?QU?Int\w+Storage|qu?int\d+(x\d)?|per_(tensor|channel)_\w+)",
        "quantised tensors",
        "x.dequantize() in the place of each such tensor x",
    ),
    (
        r"torch\.(_utils\._rebuild_nested_tensor|nested\..*)",
        "nested tensors",
        "x.unbind(), which are its tensors, in the place of each such tensor x",
    ),
)


def refuse_absent(names: Iterable[str]) -> None:
    """CheckpointError where a file names what only such tensors need."""
    for name in names:
        for pattern, kind, instead in _ADVICE:
            if re.fullmatch(pattern, name):
                raise CheckpointError(
                    f"The checkpoint holds {kind} (it names {escaped(name)}), which tensorbus does "
                    f"not have: load it with PyTorch, and save there {instead}."
                )


def refuse(full: str) -> NoReturn:
    """UnsafeCheckpointError for a name that a file uses, and how to allow it."""
    name = escaped(full)
    raise UnsafeCheckpointError(
        f"Weights only load failed. Unsupported global: GLOBAL {name} was not an allowed global by "
        "default: it is not in the list of names that are safe to load. If you trust it with any "
        f"argument, allow it with tensorbus.serialization.add_safe_globals([{name}]); if you trust "
        "the whole file, load it with weights_only=False, which may run any code that the file "
        "contains."
    )
