"""The parameters of a kernel, read from its text in a language of C's family."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_QUALIFIERS = re.compile(
    r"\b(?:const|volatile|restrict|__restrict__|__restrict|(?:__)?(?:global|constant))\b"
)
_SPELLINGS = {
    "bool": "bool _Bool",
    "int8": "char|signed char|int8_t",
    "uint8": "unsigned char|uchar|uint8_t",
    "int16": "short|short int|int16_t",
    "uint16": "unsigned short|ushort|uint16_t",
    "int32": "int|signed|signed int|int32_t",
    "uint32": "unsigned|unsigned int|uint|uint32_t",
    "int64": "long|long int|long long|long long int|int64_t|ptrdiff_t",
    "uint64": "unsigned long|ulong|unsigned long long|unsigned long int|uint64_t|size_t",
    "float16": "half|__half|_Float16",
    "float32": "float",
    "float64": "double",
}
_TYPES = {
    spelling: np.dtype(name) for name, row in _SPELLINGS.items() for spelling in row.split("|")
} | {spelling: np.dtype(bool) for spelling in ("bool", "_Bool")}

_STORED = {"uint8": ("bool",), "bool": ("uint8",), "uint16": ("bfloat16",)}
"""Further dtypes of tensors whose elements are kept as such a type."""


class Parameter(NamedTuple):
    """One parameter: its name and text, its type where that is known."""

    name: str
    text: str
    type: np.dtype | None
    pointer: bool
    written: bool

    def takes(self, dtype: str) -> bool:
        """Whether it may point to elements of a dtype; what is unknown here may point to any."""
        if self.type is None:
            return True
        return dtype == self.type.name or dtype in _STORED.get(self.type.name, ())


def parameters(source: str, name: str) -> list[Parameter]:
    """The parameters of the kernel *name*; ValueError where the text defines none."""
    text = _COMMENTS.sub(" ", source)
    found = re.search(rf"\bvoid\b[^;{{}}]*?\b{re.escape(name)}\s*\(([^()]*)\)\s*\{{", text)
    if found is None:
        raise ValueError(
            f"the source defines no kernel {name!r}: it must have 'void {name}(...) {{' with its "
            "parameters written out"
        )
    listed = found[1].strip()
    if listed in ("", "void"):
        return []
    return [_parameter(" ".join(one.split()), name) for one in listed.split(",")]


def _parameter(text: str, kernel: str) -> Parameter:
    if re.search(r"\b(?:__)?local\b", text):
        raise ValueError(
            f"{kernel}: the parameter '{text}' is local memory, which has no argument here: "
            "declare an array inside the kernel"
        )
    pointer = "*" in text or "[" in text
    pointee = text.partition("*")[0]
    words = re.findall(r"\w+", _QUALIFIERS.sub(" ", text.partition("[")[0]))
    spelling = " ".join(words[:-1])
    type = _TYPES.get(spelling)
    if type is None and not pointer:
        raise ValueError(
            f"{kernel}: the parameter '{text}' takes a number of an unknown type {spelling!r}: "
            f"known are {', '.join(_TYPES)}"
        )
    written = pointer and not re.search(r"\b(?:const|(?:__)?constant)\b", pointee)
    return Parameter(words[-1], text, type, pointer, written)
