"""Selective checkpointing: of a function that is computed again, some results are kept.

Both contexts are handlers of rows. The first asks a policy for each op of the call, and keeps the
results that are to be saved. The second returns these instead of running the op, and hands the
checkpoint's hooks what the op's node kept, which is operands and results.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from tensorbus._base.modes import switch, this_thread
from tensorbus._base.public_place import show_in
from tensorbus._tensor.tensor import Tensor, version_of
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.autograd.node import Node, next_sequence
from tensorbus.autograd.packing import without_history
from tensorbus.op_engine.op_objects import OpOverload, OpOverloadPacket, op_of
from tensorbus.op_engine.row_handlers import DETACHMENT, HandlesRows, Proceed
from tensorbus.rows.registry import ROWS, Row

_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend "
    "on global state that changed between forward and backward."
)
_PRODUCTS = ("mm", "bmm", "mv", "dot")
"""Ops of PyTorch that are one here: ``aten.matmul``."""

SAC_IGNORED_OPS = {op_of(DETACHMENT)}
"""Ops that no policy is asked for, since the two runs may differ in them."""


class CheckpointPolicy(enum.Enum):
    """What to do with the results of an op, as the policy of selective checkpointing says.

    ``MUST_SAVE`` and ``PREFER_SAVE`` keep them, all others compute them again: so do those that
    end in ``CPU_OFFLOAD``, which only compilers follow.

    >>> from tensorbus.utils.checkpoint import CheckpointPolicy
    >>> CheckpointPolicy.MUST_SAVE
    <CheckpointPolicy.MUST_SAVE: 0>

    Source: https://pytorch.org/docs/stable/checkpoint.html
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """What a policy gets besides the op and its arguments.

    ``op_output`` is what the op returned; ``is_recompute`` is False, since policies are asked in
    the forward pass alone.

    >>> from tensorbus.utils.checkpoint import SelectiveCheckpointContext
    >>> SelectiveCheckpointContext(is_recompute=False).is_recompute
    False
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


Policy = Callable[..., "CheckpointPolicy | bool"]


class _Kept(NamedTuple):
    """The results of an op, and what its node keeps of it."""

    results: tuple[Any, ...]
    several: bool
    versions: tuple[int, ...]
    recorded: tuple[bool, ...]
    places: list[tuple[str, int]]
    """Which tensors went to the hooks, in order: those of the operands, or of the results."""


_COMPUTED, _CONSUMED = object(), object()
"""What stands for results that are computed again, and for those that were used already."""

Store = dict[OpOverload, dict[int, Any]]


class KeptBackward(Node):
    """The node of a result that was not computed again: no gradient comes past it."""

    __slots__ = ()

    def __init__(self, kind: Any):
        self.k = kind
        self.q = next_sequence()
        self.h = None

    def edges(self) -> tuple[Any, ...]:
        raise RuntimeError(
            "selective checkpointing: a gradient was asked for inside the function while it is "
            "computed again, through an op whose results were kept; let the policy recompute it"
        )

    def run(self, g: Any) -> tuple[Any, ...]:
        return self.edges()

    run_t = run


class _Counting(HandlesRows):
    """A handler of rows that counts the calls of each op."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.calls: dict[OpOverload, int] = defaultdict(int)

    def within(self, outer: Callable[[], None]) -> Generator[Any, None, None]:
        self.calls.clear()
        return super().within(outer)

    def _handle(self, row: Row, arguments: tuple[Any, ...], proceed: Proceed) -> Any:
        op = op_of(row)
        if op in SAC_IGNORED_OPS:
            return proceed(row, arguments)
        index = self.calls[op]
        self.calls[op] += 1
        return self.call(op, index, row, arguments, proceed)

    def call(
        self, op: OpOverload, index: int, row: Row, arguments: tuple[Any, ...], proceed: Proceed
    ) -> Any:
        raise NotImplementedError


class _Keeping(_Counting):
    """The context of the call: keeps the results that the policy wants to be saved."""

    def __init__(self, policy: Policy, store: Store) -> None:
        super().__init__(store)
        self.policy = policy

    def call(
        self, op: OpOverload, index: int, row: Row, arguments: tuple[Any, ...], proceed: Proceed
    ) -> Any:
        made, packed = _noting(row, arguments, proceed)
        args, kwargs = op.seen(arguments)
        context = SelectiveCheckpointContext(is_recompute=False, op_output=made)
        policy = self.policy(context, op, *args, **kwargs)
        if isinstance(policy, bool):
            policy = CheckpointPolicy.MUST_SAVE if policy else CheckpointPolicy.PREFER_RECOMPUTE
        wanted = policy in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
        # What is written, and what shares memory, has to be done again.
        kept = _kept(made, arguments, packed) if wanted and row.form != "view" else None
        self.store[op][index] = _COMPUTED if kept is None or row.writes else kept
        return made


def _noting(row: Row, arguments: tuple[Any, ...], proceed: Proceed) -> tuple[Any, list[Tensor]]:
    """What an op returns, and the tensors that its node gave to this thread's hooks."""
    packed: list[Tensor] = []
    before = this_thread.hooks
    if not before:
        return proceed(row, arguments), packed
    pack, unpack = before[-1]

    def note(t: Tensor) -> Any:
        packed.append(t)
        return pack(t)

    try:
        switch("hooks", (*before[:-1], (note, unpack)))
        return proceed(row, arguments), packed
    finally:
        try:
            switch("hooks", before)
        except BaseException:
            switch("hooks", before)
            raise


def _tensors(values: tuple[Any, ...]) -> list[Tensor]:
    each = (x if isinstance(x, (list, tuple)) else (x,) for x in values)
    return [t for several in each for t in several if isinstance(t, Tensor)]


def _kept(made: Any, arguments: tuple[Any, ...], packed: list[Tensor]) -> _Kept | None:
    """What is kept of a call; None where its node keeps neither operands nor results."""
    several = isinstance(made, tuple)
    results = made if several else (made,)
    if not all(isinstance(t, Tensor) for t in results):
        return None
    operands = _tensors(arguments)
    places = []
    for t in packed:
        place = _place("operand", operands, t) or _place("result", results, t)
        if place is None:
            return None
        places.append(place)
    with no_grad():
        alone = tuple(map(without_history, results))
    return _Kept(
        alone,
        several,
        tuple(map(version_of, alone)),
        tuple(t.requires_grad for t in results),
        places,
    )


def _place(where: str, tensors: Any, t: Tensor) -> tuple[str, int] | None:
    return next(((where, i) for i, x in enumerate(tensors) if x._a is t._a), None)


class _Reusing(_Counting):
    """The context of the second run: returns what was kept."""

    def __init__(self, store: Store, mutable: bool) -> None:
        super().__init__(store)
        self.mutable = mutable

    def call(
        self, op: OpOverload, index: int, row: Row, arguments: tuple[Any, ...], proceed: Proceed
    ) -> Any:
        if op not in self.store:
            raise RuntimeError(
                f"{op} encountered during backward but not found in storage. {_MISMATCH}"
            )
        calls = self.store[op]
        entry = calls.get(index)
        if entry is None:
            raise RuntimeError(
                f"{op} invocation index {index} encountered during backward but not found in "
                f"storage. {_MISMATCH}"
            )
        if entry is _CONSUMED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any "
                "region computed under selective activation checkpoint."
            )
        if entry is _COMPUTED:
            return proceed(row, arguments)
        calls[index] = _CONSUMED
        return self._returned(entry, arguments)

    def _returned(self, kept: _Kept, arguments: tuple[Any, ...]) -> Any:
        if not self.mutable and kept.versions != tuple(map(version_of, kept.results)):
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated"
            )
        tensors = {"operand": _tensors(arguments), "result": kept.results}
        for where, i in kept.places:
            with no_grad():
                this_thread.hooks[-1][0](tensors[where][i])
        for t, recorded in zip(kept.results, kept.recorded, strict=True):
            if recorded:
                t._e = KeptBackward(t._k)
        return kept.results if kept.several else kept.results[0]


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | list[OpOverload], allow_cache_entry_mutation: bool = False
) -> tuple[_Keeping, _Reusing]:
    """Contexts for ``checkpoint`` in which the results of some ops are kept.

    A policy is called as ``policy(context, op, *args)`` after each op of the forward pass and
    returns a ``CheckpointPolicy`` or a bool; for a list of ops those in the list are saved. *op* is
    that of a row, such as ``torch.ops.aten.matmul.default``; in a list ``mm``, ``bmm``, ``mv`` and
    ``dot`` mean that one. Views and writes are always done again.

    TypeError for what is neither; ValueError for a list with something else than ops. In the
    backward pass RuntimeError for what was kept and written to since, unless
    *allow_cache_entry_mutation*, and for other ops than before.

    >>> import functools
    >>> import tensorbus as torch
    >>> from tensorbus.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> saved = [torch.ops.aten.matmul.default]
    >>> contexts = functools.partial(create_selective_checkpoint_contexts, saved)
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> f = lambda x: (x @ x).exp()
    >>> y = checkpoint(f, x, use_reentrant=False, context_fn=contexts)
    >>> y.sum().backward()

    Source: https://pytorch.org/docs/stable/checkpoint.html
    """
    if isinstance(policy_fn_or_list, list):
        policy = _saving({_op_in_list(op) for op in policy_fn_or_list})
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    store: Store = defaultdict(dict)
    return _Keeping(policy, store), _Reusing(store, allow_cache_entry_mutation)


def _saving(ops: set[OpOverload]) -> Policy:
    def policy(context: SelectiveCheckpointContext, op: OpOverload, *args: Any, **_: Any) -> Any:
        return CheckpointPolicy.MUST_SAVE if op in ops else CheckpointPolicy.PREFER_RECOMPUTE

    return policy


def _op_in_list(op: Any) -> OpOverload:
    if isinstance(op, OpOverload):
        product = op.namespace == "aten" and op.overloadpacket.__name__ in _PRODUCTS
        return op_of(ROWS["matmul"]) if product else op
    hint = ""
    if isinstance(op, OpOverloadPacket):
        hint = (
            "Please update the OpOverloadPacket to a specific OpOverload. For example, if you have "
            "`torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
        )
    raise ValueError(
        f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {hint}"
    )


show_in(
    "tensorbus.utils.checkpoint",
    [
        (f.__name__, f)
        for f in (
            CheckpointPolicy,
            SelectiveCheckpointContext,
            create_selective_checkpoint_contexts,
        )
    ],
)
