"""The class of ``torch.__version__`` under the alias: a str that compares as a version."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["TorchVersion"]


def _key(version: Any) -> tuple[Any, ...]:
    """What orders versions: the release, then whether it is final, then what stands behind +."""
    text = version if isinstance(version, str) else ".".join(map(str, version))
    found = re.fullmatch(r"v?(\d+(?:\.\d+)*)((?:[._-]?[a-z]+\d*)*)(?:\+([\w.-]+))?", text, re.I)
    if found is None:
        raise ValueError(f"Invalid version: {text!r}")
    release = [int(part) for part in found[1].split(".")]
    while len(release) > 1 and not release[-1]:
        release.pop()
    before = found[2].lower()
    final = (1, "") if not before or "post" in before else (0, before)
    return tuple(release), final, found[3] or ""


class TorchVersion(str):
    """A version that is a str, and compares with strings and tuples of numbers as versions do.

    >>> from tensorbus.torch_version import TorchVersion
    >>> TorchVersion("2.13.0") > "2.9", TorchVersion("2.13.0") >= (2, 13)
    (True, True)
    """

    def _compare(self, other: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
        if not isinstance(other, str | Iterable):
            return None
        try:
            return _key(str(self)), _key(other)
        except ValueError:
            return None

    def __lt__(self, other: Any) -> bool:
        keys = self._compare(other)
        return str.__lt__(self, other) if keys is None else keys[0] < keys[1]

    def __le__(self, other: Any) -> bool:
        keys = self._compare(other)
        return str.__le__(self, other) if keys is None else keys[0] <= keys[1]

    def __gt__(self, other: Any) -> bool:
        keys = self._compare(other)
        return str.__gt__(self, other) if keys is None else keys[0] > keys[1]

    def __ge__(self, other: Any) -> bool:
        keys = self._compare(other)
        return str.__ge__(self, other) if keys is None else keys[0] >= keys[1]

    def __eq__(self, other: object) -> bool:
        keys = self._compare(other)
        return str.__eq__(self, other) if keys is None else keys[0] == keys[1]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(self)
