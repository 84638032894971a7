"""``torch.nn.attention``: attention with modified scores, causal biases, sequences of any lengths.

Which way of computing a program chooses is kept, and changes no result: there is one way here,
whose memory grows with the number of queries and not with that of scores.

>>> import tensorbus as torch
>>> from tensorbus.nn.attention import SDPBackend, sdpa_kernel
>>> q = torch.ones(1, 2, 3, 4)
>>> with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
...     torch.nn.functional.scaled_dot_product_attention(q, q, q).shape
torch.Size([1, 2, 3, 4])
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.attention_ways import NUMBERS, WAYS
from tensorbus._base.leaving import block as _block
from tensorbus._base.page import show_pages as _show_pages
from tensorbus._base.warning import warn_user as _warn_user

__all__ = [
    "WARN_FOR_UNFUSED_KERNELS",
    "SDPBackend",
    "activate_flash_attention_impl",
    "current_flash_attention_impl",
    "list_flash_attention_impls",
    "register_flash_attention_impl",
    "restore_flash_attention_impl",
    "sdpa_kernel",
]

WARN_FOR_UNFUSED_KERNELS = False
"""Kept for programs that set it; there are no fused kernels to warn about."""


class SDPBackend(enum.Enum):
    """Ways of computing attention, for ``sdpa_kernel``."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> int:
        return int(self.value)

    __index__ = __int__


_WAYS = {number: name for name, number in NUMBERS.items()}


@_block
def _chosen(
    backends: list[SDPBackend], set_priority: bool
) -> Generator[dict[str, Any], None, None]:
    before = set(WAYS.allowed), list(WAYS.order)
    names = [_WAYS[backend.value] for backend in backends if backend.value in _WAYS]
    try:
        WAYS.allowed = set(names)
        if set_priority:
            WAYS.order = names + [name for name in before[1] if name not in names]
        yield {}
    finally:
        WAYS.allowed, WAYS.order = before


def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Any:
    """A context in which attention may be computed in the given ways only, as a program asks.

    The switches of ``torch.backends.cuda`` show the choice, and with *set_priority* their order is
    kept. Results are the same; RuntimeError from ``scaled_dot_product_attention`` where no way is
    left. AssertionError for what is no ``SDPBackend`` and no list.
    """
    if not isinstance(backends, list | SDPBackend):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    found = [backends] if isinstance(backends, SDPBackend) else list(dict.fromkeys(backends))
    return _chosen(found, set_priority)


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """The ways that are allowed, the preferred ones first where asked."""
    order = (
        WAYS.order if with_priority else ("cudnn", "flash", "mem_efficient", "math", "overrideable")
    )
    return [SDPBackend(NUMBERS[name]) for name in order if name in WAYS.allowed]


# -- implementations of flash attention that programs bring -----------------------------------
_IMPLEMENTATIONS: dict[str, Callable[..., Any]] = {}
_ACTIVE: list[tuple[str, Any]] = []


def register_flash_attention_impl(impl: str, *, register_fn: Callable[..., Any]) -> None:
    """Keep a function under a name; ``activate_flash_attention_impl`` calls it."""
    _IMPLEMENTATIONS[impl] = register_fn


def activate_flash_attention_impl(impl: str) -> None:
    """Call the function registered as *impl*; what it returns is removed when another comes.

    ValueError for a name that is not registered; none is by tensorbus.
    """
    _remove_active()
    if impl not in _IMPLEMENTATIONS:
        raise ValueError(
            f"Unknown flash attention impl '{impl}'. Available implementations: "
            f"{list_flash_attention_impls()}"
        )
    handle = _IMPLEMENTATIONS[impl]()
    if handle is not None:
        _ACTIVE.append((impl, handle))


def list_flash_attention_impls() -> list[str]:
    """The names that programs registered, sorted."""
    return sorted(_IMPLEMENTATIONS)


def current_flash_attention_impl() -> str | None:
    """The name of the active one; None where there is none."""
    return _ACTIVE[-1][0] if _ACTIVE else None


def _remove_active() -> bool:
    """Remove the active one; whether there was one."""
    if not _ACTIVE:
        return False
    _ACTIVE.pop()[1].remove()
    return True


def restore_flash_attention_impl() -> None:
    """Remove the active one; a warning where there is none."""
    if not _remove_active():
        _warn_user("Trying to restore default FA2 impl when no custom impl was activated")


_show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
