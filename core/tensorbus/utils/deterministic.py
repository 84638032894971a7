"""``fill_uninitialized_memory``: what new memory holds while algorithms must be deterministic.

True, the default: under ``use_deterministic_algorithms(True)`` the memory of ``empty``,
``empty_like``, ``empty_strided``, ``empty_permuted``, ``new_empty`` and ``resize_`` is filled with
NaN, the greatest integer or True. False: it holds any values, which is faster.
"""

from __future__ import annotations

import sys
from types import ModuleType

from tensorbus._base.deterministic import DETERMINISTIC


class _Settings(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether memory of any values is filled; RuntimeError for a setting that is no bool."""
        return DETERMINISTIC.fill

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
        DETERMINISTIC.fill = mode


sys.modules[__name__].__class__ = _Settings
