"""Where a report of a fault goes: to the project of the plugin that is at fault, or to ours."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, metadata

OURS = (
    "the issue tracker of the repository that it came from, with what is printed here; "
    "a security fault first to its maintainers alone"
)


def places(distributions: Iterable[str]) -> dict[str, str]:
    """The place for tensorbus, and for each of these distributions that is not a part of it."""
    found = {"tensorbus": _named("tensorbus") or OURS}
    for name in sorted({*distributions} - {"tensorbus"}):
        named = _named(name)
        if named or not name.startswith("tensorbus-"):  # ours begin so, and have no place apart
            found[name] = named or "its authors: its metadata names no place"
    return found


def _named(distribution: str) -> str:
    """The tracker, else another address, that the distribution's metadata has; or nothing."""
    try:
        found = metadata(distribution)
    except PackageNotFoundError:
        return ""
    urls = [text.partition(",")[::2] for text in found.get_all("Project-URL") or []]
    trackers = [u for label, u in urls if "issue" in label.lower() or "bug" in label.lower()]
    addresses = [*trackers, *(u for _, u in urls)]
    for key in ("Home-page", "Maintainer-email", "Author-email"):
        addresses += found.get_all(key) or []
    return next((a.strip() for a in addresses if a and a.strip()), "")
