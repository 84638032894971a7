"""What a rank's process must know to take part."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """One set of ranks; crosses to their processes."""

    name: str
    """The comm."""
    size: int
    timeout: float
    address: str
    """Where the parent waits for its ranks."""
    key: bytes
    """What they prove to it."""
    store: tuple[str, int, bytes]
    """Host, port and secret of the store that the parent serves."""
    folder: str
    """For files of the ranks: it must be empty at the end."""
    errors: str
    """The folder for what they write to standard error."""
    label: str
    """Different for every set."""
    paths: tuple[str, ...]
    """The parent's ``sys.path``."""
    threads: bool = False
    """Whether the ranks are threads of one process."""
    launched: bool = False
    """Whether the comm's own launcher starts the processes."""
    soak: int = 0
    """The seed of the randomised rounds."""
