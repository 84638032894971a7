"""Messages of backends made fit to be shown: they may hold whatever a driver printed."""

from __future__ import annotations

import re

# Control characters but tab and newline, surrogates without a partner and what else XML 1.0 has no
# place for: a terminal would obey them, a parser of XML would refuse the file.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """*text* with control characters and surrogates as escapes such as ``\\x1b``."""
    return _UNFIT.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def shortened(text: str, limit: int) -> str:
    """*text*, printable, cut after *limit* characters."""
    return printable(text if len(text) <= limit else f"{text[:limit]} ...")


def plural(count: int, noun: str) -> str:
    """``1 case``, ``2 cases``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def error(ulp: float) -> str:
    """An error in ULP: ``0.50``, ``3.90``, ``1e+15``."""
    return f"{ulp:.2f}" if ulp < 1000 else f"{ulp:.0e}"


def factor(number: float) -> str:
    """A ratio in about two digits: ``0.31``, ``4.2``, ``120``."""
    return f"{number:.2f}" if number < 1 else f"{number:.1f}" if number < 10 else f"{number:.0f}"
