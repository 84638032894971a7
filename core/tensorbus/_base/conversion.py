"""What ``torch.__future__`` says about parameters of modules that are converted or loaded."""

from __future__ import annotations


class _Conversion:
    """``overwrite``: other parameters take their places. ``swap``: they get others' contents."""

    __slots__ = ("overwrite", "swap")

    def __init__(self) -> None:
        self.overwrite = self.swap = False


CONVERSION = _Conversion()
