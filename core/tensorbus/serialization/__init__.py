"""Saving and loading, in PyTorch's formats, without running code from the file."""

from tensorbus.serialization.archive import get_crc32_options, set_crc32_options
from tensorbus.serialization.errors import CheckpointError, UnsafeCheckpointError
from tensorbus.serialization.locations import (
    SourceChangeWarning,
    default_restore_location,
    location_tag,
    register_package,
)
from tensorbus.serialization.options import (
    LoadEndianness,
    get_default_load_endianness,
    get_default_mmap_options,
    set_default_load_endianness,
    set_default_mmap_options,
)
from tensorbus.serialization.reading import get_unsafe_globals_in_checkpoint, load
from tensorbus.serialization.safe_open import safe_open
from tensorbus.serialization.safetensors import load_file, save_file
from tensorbus.serialization.storages import MapLocation as MAP_LOCATION  # noqa: F401
from tensorbus.serialization.trusted import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from tensorbus.serialization.writing import DEFAULT_PROTOCOL, save  # noqa: F401

__all__ = [
    "CheckpointError",
    "LoadEndianness",
    "SourceChangeWarning",
    "UnsafeCheckpointError",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "load_file",
    "location_tag",
    "register_package",
    "safe_globals",
    "safe_open",
    "save",
    "save_file",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
]
