"""``torch.jit.annotations``: the names of types that programs take from here."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035

from tensorbus.jit import BroadcastingList1, BroadcastingList2, BroadcastingList3, Future

__all__ = [
    "Any",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Dict",
    "Future",
    "List",
    "Optional",
    "Tuple",
    "Union",
]
