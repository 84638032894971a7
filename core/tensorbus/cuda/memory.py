"""``torch.cuda.memory``: how much of their memory CUDA devices have given."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from tensorbus import accelerator
from tensorbus._base.public_place import show_in
from tensorbus._base.warning import warn_user
from tensorbus._dispatch.meant_devices import device_of

__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
]

_TYPE = "cuda"


def _there() -> bool:
    return accelerator.is_available(_TYPE)


def empty_cache() -> None:
    """Give cached memory back to the devices; nothing happens where there is none."""
    if _there():
        accelerator.empty_cache(_TYPE)


def memory_stats(device: Any = None) -> OrderedDict[str, int]:
    """Figures of a CUDA device's memory, None: the current one's; empty where there is no device.

    Those that are known: ``allocated_bytes.all.current``, ``.peak``, ``.allocated`` and ``.freed``,
    ``reserved_bytes.all.current`` and ``.peak``.
    """
    if not _there():
        return OrderedDict()
    return accelerator.memory_stats(device_of(device, _TYPE))


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """``memory_stats`` with a dict for each part of a name."""
    nested: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *path, last = name.split(".")
        inner = nested
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return nested


def memory_allocated(device: Any = None) -> int:
    """Bytes in use on a CUDA device by this process; 0 where there is no device."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors took of a CUDA device; 0 where there is no device.

    Since the program began, or since ``reset_peak_memory_stats``.
    """
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device: Any = None) -> int:
    """Bytes that this process holds of a CUDA device, with what is kept for later tensors.

    0 where there is no device.
    """
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that this process held of a CUDA device; 0 where there is no device.

    Since the program began, or since ``reset_peak_memory_stats``.
    """
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


def memory_cached(device: Any = None) -> int:
    """The older name of ``memory_reserved``, with a FutureWarning."""
    _renamed("memory_cached", "memory_reserved")
    return memory_reserved(device)


def max_memory_cached(device: Any = None) -> int:
    """The older name of ``max_memory_reserved``, with a FutureWarning."""
    _renamed("max_memory_cached", "max_memory_reserved")
    return max_memory_reserved(device)


def _renamed(old: str, new: str) -> None:
    warn_user(f"`torch.cuda.{old}` has been renamed to `torch.cuda.{new}`", FutureWarning)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peaks of ``memory_stats`` begin again, at what is in use now.

    RuntimeError where there is no CUDA device.
    """
    accelerator.reset_peak_memory_stats(device_of(device, _TYPE))


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Let ``memory_stats`` count anew what was allocated and freed.

    RuntimeError where there is no CUDA device.
    """
    accelerator.reset_accumulated_memory_stats(device_of(device, _TYPE))


def reset_max_memory_allocated(device: Any = None) -> None:
    """``reset_peak_memory_stats``, with a FutureWarning: it resets all peaks."""
    _resets_all("reset_max_memory_allocated")
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: Any = None) -> None:
    """``reset_peak_memory_stats``, with a FutureWarning: it resets all peaks."""
    _resets_all("reset_max_memory_cached")
    reset_peak_memory_stats(device)


def _resets_all(old: str) -> None:
    warn_user(
        f"torch.cuda.{old} now calls torch.cuda.reset_peak_memory_stats, which resets /all/ peak "
        "memory stats.",
        FutureWarning,
    )


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The bytes that are free on a CUDA device, and all that it has.

    RuntimeError where there is no CUDA device.
    """
    return accelerator.get_memory_info(device_of(device, _TYPE))


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """A table of what ``memory_stats`` knows, for people to read."""
    stats = memory_stats_as_nested_dict(device)
    columns = {"current": "Cur Usage", "peak": "Peak Usage",
               "allocated": "Tot Alloc", "freed": "Tot Freed"}  # fmt: skip
    rows = [("Allocated memory", "allocated_bytes"), ("GPU reserved memory", "reserved_bytes")]
    width = 24 + 13 * len(columns)
    where = accelerator.current_device(_TYPE) if device is None else device_of(device, _TYPE)
    lines = [
        f"{'CUDA memory summary, device ID ' + str(where):^{width}}",
        f"{'Metric':<22}|" + "|".join(f" {title:>11} " for title in columns.values()),
    ]
    for title, name in rows:
        figures = stats.get(name, {}).get("all", {})
        shown = [_bytes(figures[key]) if key in figures else "" for key in columns]
        lines.append(f"{title:<22}|" + "|".join(f" {text:>11} " for text in shown))
    rule = "-" * width
    return "\n".join([rule, *(f"|{line}|" for line in lines), rule]) + "\n"


def _bytes(n: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if n < 768 * 1024:
            return f"{int(n)} {unit}"
        n /= 1024
    return f"{int(n)} GiB"


show_in("tensorbus.cuda", [(n, globals()[n]) for n in __all__])
