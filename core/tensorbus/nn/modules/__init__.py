"""The layers of ``tensorbus.nn``, grouped by family; their names are here too."""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.absent import names_of as _names_of

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__, others=_names_of("tensorbus.nn"))
