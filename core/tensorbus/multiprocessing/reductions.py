"""How tensors go to other processes: by their memory, an open file without a name."""

from __future__ import annotations

from tensorbus.ops.tensor.shared_memory import rebuild_storage as rebuild_storage
from tensorbus.ops.tensor.shared_memory import rebuild_tensor as rebuild_tensor
from tensorbus.ops.tensor.shared_memory import reduce_for_processes as init_reductions
from tensorbus.ops.tensor.shared_memory import reduce_storage, reduce_tensor

__all__ = [
    "init_reductions",
    "rebuild_storage",
    "rebuild_tensor",
    "reduce_storage",
    "reduce_tensor",
]
