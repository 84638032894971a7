"""The calls that go up the layers, all of them: a lower room calls, an upper room provides.

The room that defines the function registers it when it is imported, at the latest by the first
call::

    @registered.make_core.provide
    def _make(row): ...
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


class Upcall:
    """A function that an upper room provides."""

    __slots__ = ("_function", "_provider")

    def __init__(self, provider: str):
        self._provider = provider
        self._function: Callable[..., Any] = self._missing

    def _missing(self, *args: Any, **kwargs: Any) -> Any:
        importlib.import_module(self._provider)
        return self._function(*args, **kwargs)

    def provide(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Register the function; a decorator."""
        self._function = function
        return function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)


class Event:
    """Something that upper rooms want to hear of."""

    __slots__ = ("_listeners",)

    def __init__(self) -> None:
        self._listeners: list[Callable[..., None]] = []

    def listen(self, function: Callable[..., None]) -> Callable[..., None]:
        """Register a listener; a decorator."""
        self._listeners.append(function)
        return function

    def __call__(self, *args: Any) -> None:
        for function in self._listeners:
            function(*args)


backend_loaded = Event()
"""(backend): a plugin's backend, on its first use."""

device_forgotten = Event()
"""(device type): a plugged backend is gone, and what is kept for it with it."""

composition_compiles = Event()
"""(): a plugin compiles what is composed, so what else is composed may be compiled too."""

fusion_switched = Event()
"""(): plugins are asked from now on, or no longer, to compile what is composed."""

result_restored = Event()
"""(tensor, node, position): a result that a node kept is a tensor again, while a mode is active."""

tensor_replaced = Event()
"""(new, old): a tensor stands for another of the same value, while a mode is active."""

tensor_crossed = Event()
"""(new, old, cross): a tensor came into a batch or out of it, as *cross* takes any other."""

adopt_subclass = Upcall("tensorbus.op_engine.override")
"""(class): a subclass of Tensor was defined."""

adopt_dispatching = Upcall("tensorbus.autograd.torch_dispatch")
"""(tensor): a tensor was made whose class has ``__torch_dispatch__``."""

undispatched = Upcall("tensorbus.autograd.torch_dispatch")
"""(func, args, kwargs): the call, where no class with ``__torch_dispatch__`` is asked."""

ones_like = Upcall("tensorbus.autograd.torch_dispatch")
"""(tensor): ones, as a tensor of the class of one with ``__torch_dispatch__``."""

default_torch_function = Upcall("tensorbus.op_engine.override")
"""(class, func, types, args, kwargs): what ``Tensor.__torch_function__`` does."""

duck_answer = Upcall("tensorbus.op_engine.override")
"""(func, value, args): what a value that is no tensor says of the call by ``__torch_function__``;
NotImplemented of other values."""

tensor_namespace = Upcall("tensorbus.op_engine.tensor_namespace")
"""(kind): the namespace over tensors of a kind, which records."""

compiled_composition = Upcall("tensorbus.graph.compiled_rows")
"""(kind, row, compose, compilers): the entry that runs what a plugin compiles of a row's
composition."""

emitted_composition = Upcall("tensorbus.graph.emitting")
"""(kind, row, compose): the entry of a composed pointwise op for pieces of large arrays, which runs
generated Python."""

list_composition = Upcall("tensorbus.graph.list_rows")
"""(kind, row, compilers): the entry of a row of form ``list`` that no kernel takes whole."""

make_core = Upcall("tensorbus.op_engine.generate")
"""(row, names=None): the generated tensor function of a row, with other names for modes."""

share_storage = Upcall("tensorbus.ops.tensor.shared_memory")
"""(storage): its bytes move into memory that processes share."""

construct_tensor = Upcall("tensorbus.ops.creation.legacy")
"""(class, *args, **kwargs): ``Tensor(2, 3)`` and the like."""

edge_of = Upcall("tensorbus.op_engine.history")
"""(tensor): the tensor's edge, that of a view made anew where its base was written to."""

sparse_tensor = Upcall("tensorbus.sparse.tensor")
"""(sparse array): the tensor of it."""

construct_sparse = Upcall("tensorbus.sparse.construction")
"""(dtype, device, arguments, named): what ``sparse.FloatTensor`` and the like construct."""

without_elements = Upcall("tensorbus.sparse.construction")
"""(name of a factory, arguments, options): the sparse tensor that it makes, of zeros."""

sparse_for_edge = Upcall("tensorbus.sparse.gradients")
"""(edge, sparse tensor): what a backward pass hands to that edge."""

accumulate_sparse = Upcall("tensorbus.sparse.gradients")
"""(leaf, array, kind): a leaf's new ``.grad``, where the array or the gradient before is sparse."""

sparse_of_dense = Upcall("tensorbus.sparse.conversion")
"""(name of a method, tensor, arguments by name): what the method of a dense tensor gives."""

embedding_with_sparse_gradient = Upcall("tensorbus.sparse.gradients")
"""(table, indices, row without a gradient): rows, for which the table's gradient is sparse."""
bags_with_sparse_gradient = Upcall("tensorbus.sparse.gradients")
"""(table, factors or None, indices, bounds, padding or -1): as the row ``bag_sum``."""

recomputed = Upcall("tensorbus.utils.checkpoint")
"""(function, *args): its result, for whose gradients it is computed again."""

show_saved = Upcall("tensorbus.autograd.saved_names")
"""(class of nodes): give it ``_saved_self`` and the like."""

bordered = Upcall("tensorbus.nn.functional.padding")
"""(tensor, widths, mode, value): ``nn.functional.pad``, for the borders of a signal."""
