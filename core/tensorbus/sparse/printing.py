"""How sparse tensors print: their dense parts, as PyTorch shows them."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes, formats
from tensorbus.ops.tensor import printing
from tensorbus.sparse.tensor import sparse_op

_PLAIN_NAMES = {
    formats.sparse_csr: ("crow_indices", "col_indices"),
    formats.sparse_bsr: ("crow_indices", "col_indices"),
    formats.sparse_csc: ("ccol_indices", "row_indices"),
    formats.sparse_bsc: ("ccol_indices", "row_indices"),
}


@sparse_op("__repr__", "__str__")
def sparse_str(x: Any, **ignored: Any) -> str:
    """The text of ``repr`` of a sparse tensor."""
    a, prefix = x._a, "tensor("
    values = a.values.detach()
    suffixes = [f"size={tuple(x.shape)}", f"nnz={x._nnz()}"]
    if x.device.type != "cpu":
        suffixes.insert(0, f"device='{x.device}'")
    default = dtypes.get_default_dtype()
    if x.dtype not in (default, default.to_complex(), dtypes.int64, dtypes.bool):
        suffixes.append(f"dtype={x.dtype}")
    coo = a.layout is formats.sparse_coo
    names = ("indices",) if coo else _PLAIN_NAMES[a.layout]
    shown = [(n, t) for n, t in zip((*names, "values"), (*a.parts()[:-1], values), strict=True)]
    parts = []
    for name, t in shown:
        start = f"{name}=tensor("
        text = _part(t, len(prefix) + len(start))
        if not t.numel():
            text += f", size={tuple(t.shape)}"
        parts.append(start + text + ")")
    text = prefix + (",\n" + " " * len(prefix)).join(parts)
    suffixes.append(f"layout={a.layout}")
    made = x.grad_fn
    if made is not None:
        suffixes.append(f"grad_fn=<{type(made).__name__}>")
    elif x.requires_grad:
        suffixes.append("requires_grad=True")
    return printing.with_suffixes(text, suffixes, len(prefix), new_line=coo)


def _part(t: Any, indent: int) -> str:
    if not t._k.has_values:
        return "..."
    return printing.contents(t, indent) if t.numel() else "[]"
