"""Devices: a type that a backend plugin answers to, and an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorbus import discovery
from tensorbus._device.entered import enter, leave

_interned: dict[tuple[str, int | None], device] = {}


class device:
    """Where a tensor lives: ``device("cpu")``, ``device("cuda:1")``, ``device("cuda", 1)``.

    Without an index, the current device of that type is meant. ``device("auto")`` is an accelerator
    that can be used here, or else the CPU. RuntimeError for a malformed name or a type that no
    installed plugin offers. As a context manager it is the default device of the
    tensors created inside.

    >>> import tensorbus
    >>> tensorbus.device("cpu", 0)
    device(type='cpu', index=0)
    """

    __slots__ = ("index", "type")
    type: str
    index: int | None

    def __new__(cls, type: Any = None, index: int | None = None) -> device:
        if isinstance(type, device):
            return type
        if isinstance(type, int) and not isinstance(type, bool) and index is None:
            return _accelerator(type)
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {_name(type)}")
        if index is not None:
            if not isinstance(index, int) or isinstance(index, bool):
                raise TypeError(f"device(): argument 'index' must be int, not {_name(index)}")
            if index < 0:
                raise RuntimeError(f"Device index must not be negative, but got {index}")
        text = type
        if ":" in text:
            if index is not None:
                raise RuntimeError(
                    "type (string) must not include an index because index was passed explicitly: "
                    + text
                )
            text, _, digits = text.partition(":")
            if not digits.isdecimal() or len(digits) > 18 or str(int(digits)) != digits:
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(digits)
        found = _interned.get((text, index))
        if found is None:
            if text == "auto" and index is None:
                return _accelerator_or_cpu()
            own = discovery.check_name(text)
            if own != text:
                return device(own, index)
            found = object.__new__(cls)
            found.type, found.index = text, index
            found = _interned.setdefault((text, index), found)
        return found

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> Any:
        return device, (self.type, self.index)

    if TYPE_CHECKING:

        def __enter__(self) -> device: ...

        def __exit__(self, *_: object) -> None: ...

    else:
        # Not called by methods of this class: an interrupt between the two would leave it entered.
        __enter__ = enter
        __exit__ = leave


def _accelerator_or_cpu() -> device:
    """The device that ``auto`` means: the accelerator that can be used here, else the CPU."""
    from tensorbus._device import defaults

    return device(defaults.accelerator_type() or "cpu")


def _accelerator(index: int) -> device:
    """The device that an index alone means: one of the accelerator's type."""
    from tensorbus._device import defaults

    type = defaults.accelerator_type()
    if type is None:
        raise RuntimeError(
            f"Cannot access accelerator device {index} when none is available: name its type too, "
            f"as in device('TYPE:{index}'), or make one the default device"
        )
    return device(type, index)


def _name(value: Any) -> str:
    return value.__class__.__name__
