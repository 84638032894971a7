"""What a rank calls, in a few bytes: ranks that call different things are told so.

A comm sends it ahead of the bytes of a collective, where that costs nothing, and compares.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from tensorbus._base.dtypes import dtype
from tensorbus.plugin.comm import REDUCE_OPS, CommContext, CommError

KINDS = ("message", "broadcast", "all_reduce", "all_gather", "reduce_scatter", "barrier", "reduce",
         "gather", "scatter", "all_to_all")  # fmt: skip
DTYPES = ("", "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
          "float64", "complex64", "complex128", "uint16", "uint32", "uint64")  # fmt: skip
OPS = ("", *REDUCE_OPS)
_KIND_CODES = {name: code for code, name in enumerate(KINDS)}
_DTYPE_CODES = {name: code for code, name in enumerate(DTYPES)}
_OP_CODES = {name: code for code, name in enumerate(OPS)}


@dataclass(frozen=True, slots=True)
class Call:
    """A collective as all ranks must call it; *root* is the rank that gives or gets, -1 for none.

    >>> from tensorbus.plugin import float32
    >>> from tensorbus.plugin.calls import Call
    >>> print(Call.of("all_reduce", 12, float32, "sum"))
    all_reduce (sum) of 12 bytes of float32
    """

    code: int
    """Kind, dtype, operation and root, in at most 56 bits."""
    nbytes: int
    kind: str = field(init=False, compare=False)
    """Its name."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", _name(KINDS, self.code & 255))

    @staticmethod
    @functools.lru_cache(
        maxsize=256
    )  # programs repeat few calls, and each is on a small call's way
    def of(
        kind: str, nbytes: int = 0, dtype: dtype | None = None, op: str = "", root: int = -1
    ) -> Call:
        """The call of that kind; the bytes are those that are equally many on all ranks."""
        code = _KIND_CODES[kind] | _OP_CODES[op] << 16 | root + 1 << 24
        if dtype is not None:
            # A dtype of another package's making is told from ours and from none.
            code |= _DTYPE_CODES.get(dtype.name, 255) << 8
        return Call(code, nbytes)

    def __str__(self) -> str:
        op, dtype = self.code >> 16 & 255, self.code >> 8 & 255
        root, text = (self.code >> 24) - 1, self.kind
        text += f" ({_name(OPS, op)})" if op else ""
        text += f" of {self.nbytes} bytes" if self.nbytes or dtype else ""
        text += f" of {_name(DTYPES, dtype)}" if dtype else ""
        return text + (f", root {root}" if root >= 0 else "")


def _name(names: tuple[str, ...], code: int) -> str:
    return names[code] if code < len(names) else "an unknown one"


def disagreement(context: CommContext, rank: int, theirs: object, mine: object) -> CommError:
    """The error for a rank of the group that calls something else than this one."""
    return CommError(
        f"{context.peer(rank)} is in {theirs} while {context.peer(context.rank)} is in {mine}: the "
        f"ranks call different operations, or with tensors of different dtypes or sizes "
        f"(TENSORBUS_DISTRIBUTED_DEBUG=1 shows all sides)",
        [context.ranks[rank]],
    )
