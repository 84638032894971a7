"""What goes wrong with a checkpoint."""

from __future__ import annotations

import pickle


class CheckpointError(RuntimeError):
    """The file is not a checkpoint that can be read: damaged, truncated, or of another format."""


class UnsafeCheckpointError(CheckpointError, pickle.UnpicklingError):
    """The file asks for something that only trusted files may have, such as a class by name."""
