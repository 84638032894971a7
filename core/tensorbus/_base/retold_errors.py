"""Errors of other threads and processes, raised again with a text that says where they were."""

from __future__ import annotations


def retold(kind: type[BaseException], text: str) -> BaseException:
    """An error of a type that says *text*; RuntimeError where the type takes more than a text."""
    if issubclass(kind, KeyError):
        # A KeyError shows the repr of its argument, which would hide the line breaks.
        return kind(_Verbatim(text))
    try:
        return kind(text)
    except Exception:
        return RuntimeError(text)


class _Verbatim(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
