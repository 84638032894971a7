"""``torch.__future__``: whether parameters stay the same objects when modules are converted.

They do here, unless a program asks that others take their places.

>>> import tensorbus
>>> tensorbus.__future__.get_swap_module_params_on_conversion()
False
"""

from __future__ import annotations

from tensorbus._base.conversion import CONVERSION as _CONVERSION
from tensorbus._base.page import show_pages as _show_pages

__all__ = [
    "get_overwrite_module_params_on_conversion",
    "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion",
    "set_swap_module_params_on_conversion",
]


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Let ``module.to(...)`` and the like put other parameters in the places of a module's own."""
    _CONVERSION.overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """What ``set_overwrite_module_params_on_conversion`` was last told; False before."""
    return _CONVERSION.overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Let ``load_state_dict(assign=True)`` keep a module's parameters, with the given contents.

    Conversions keep them always.
    """
    _CONVERSION.swap = value


def get_swap_module_params_on_conversion() -> bool:
    """What ``set_swap_module_params_on_conversion`` was last told; False before."""
    return _CONVERSION.swap


_show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])
