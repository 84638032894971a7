"""What goes wrong with a checkpoint, and how its own words appear in messages."""

from __future__ import annotations

import pickle
from typing import Any


class CheckpointError(RuntimeError, pickle.UnpicklingError):
    """The file is not a checkpoint that can be read: damaged, truncated, or of another format.

    It is of both types that PyTorch raises, a RuntimeError for archives and an UnpicklingError for
    pickles: programs catch either.

    >>> import io, tensorbus
    >>> try:
    ...     tensorbus.load(io.BytesIO(b"no checkpoint"))
    ... except tensorbus.serialization.CheckpointError as error:
    ...     isinstance(error, RuntimeError)
    True
    """


class EmptyCheckpointError(CheckpointError, EOFError):
    """The file is empty, or read to its end already.

    >>> import io, tensorbus
    >>> try:
    ...     tensorbus.load(io.BytesIO())
    ... except EOFError as error:
    ...     isinstance(error, tensorbus.serialization.CheckpointError)
    True
    """


class UnsafeCheckpointError(CheckpointError):
    """The file asks for something that only trusted files may have, such as a class by name.

    >>> import datetime, io, tensorbus
    >>> file = io.BytesIO()
    >>> tensorbus.save(datetime.date(2026, 1, 2), file)
    >>> _ = file.seek(0)
    >>> try:
    ...     tensorbus.load(file)
    ... except tensorbus.serialization.UnsafeCheckpointError as error:
    ...     "datetime.date" in str(error)
    True
    """


class MissingFolderError(FileNotFoundError, RuntimeError):
    """A file is to be written into a folder that is not there: PyTorch raises a RuntimeError."""


class NoFileError(AttributeError, TypeError):
    """Neither a path nor a file was given: PyTorch raises an AttributeError."""


def bad(what: str) -> CheckpointError:
    """The error for content that is well-formed but makes no sense."""
    return CheckpointError(f"The checkpoint is damaged: {what}.")


def escaped(text: str, most: int = 80) -> str:
    """Text from a file: on one line, without what a terminal would obey, and not too long."""
    cut = repr(text[:most])[1:-1]
    return cut if len(text) <= most else f"{cut}..."


def shown(value: Any) -> str:
    """A value from a file, for a message; of what may be large, nested or shared only the type."""
    if isinstance(value, str):
        return f"'{escaped(value)}'"
    if type(value) is int:
        return str(value) if value.bit_length() <= 64 else "an int of more than 64 bits"
    if value is None or type(value) in (bool, float):
        return repr(value)
    return f"a {type(value).__name__}"


def reason(error: BaseException) -> str:
    """What an exception says, which may repeat what stands in the file."""
    return f"{type(error).__name__}: {escaped(str(error), 200)}" if str(error) else repr(error)
