"""Files of PyTorch with tensors of kinds that are not here: what they hold, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tensorbus.serialization.errors import CheckpointError, escaped

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
