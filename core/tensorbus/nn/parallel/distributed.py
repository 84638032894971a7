"""``DistributedDataParallel``: one process for each copy of a module, gradients averaged."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import tensorbus
from tensorbus import distributed as dist
from tensorbus._base.leaving import block
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributed.algorithms.join import Join, Joinable, JoinHook
from tensorbus.distributed.lifecycle import group_or_default
from tensorbus.distributed.process_group import ProcessGroup
from tensorbus.nn.modules.module import Module
from tensorbus.nn.parallel import states
from tensorbus.nn.parallel.reducer import Hook, Reducer
from tensorbus.nn.parallel.scatter_gather import scatter_kwargs, tensors_in

_MIB = 1 << 20


class DistributedDataParallel(Module, Joinable):
    """Trains copies of *module* on all ranks of a group as one model: gradients are averaged.

    Each rank feeds its own part of the batch. At construction all ranks get the parameters and
    buffers of the group's rank 0. In the backward pass gradients are gathered in buckets, the last
    layers' first; each bucket is averaged over the ranks while the rest of the pass goes on. With
    a loss that is a mean over equally large parts, all ranks hold what one process would have
    computed on the whole batch.

    Args:
        module: the module; ``ddp.module`` afterwards.
        device_ids: one device to which inputs are moved, for a module on one device; None leaves
            inputs where they are.
        output_device: not used by a module on one device.
        broadcast_buffers: give all ranks rank 0's buffers before each forward.
        init_sync: compare and broadcast the parameters now.
        process_group: the ranks; all of them by default.
        bucket_cap_mb: the size of a bucket in MiB, 25 by default.
        find_unused_parameters: look for parameters that a forward did not use, in each pass.
        gradient_as_bucket_view: keep gradients in the buckets, which saves their memory.
        static_graph: the first pass shows which parameters all passes use.

    Raises:
        RuntimeError: the module has no parameter that requires a gradient, or the ranks' modules
            have different parameters; in a forward, where parameters had no gradient in the pass
            before.
        ValueError: devices that do not fit the module.

    Example:
        >>> import tensorbus.distributed as dist
        >>> def rank():
        ...     net = nn.Linear(1, 1)
        ...     ddp = nn.parallel.DistributedDataParallel(net)
        ...     ddp(tensorbus.tensor([[1.0 + dist.get_rank()]])).sum().backward()
        ...     return net.weight.grad.item()
        >>> dist.local.run(rank, 2)
        [1.5, 1.5]
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
    ):
        super().__init__()
        self._given_group = process_group
        self.process_group = group_or_default(process_group)
        self.module, self.dim = module, dim
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        trained = [(n, p) for n, p in self._named_parameters() if p.requires_grad]
        if not trained:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module "
                "doesn't have any parameter that requires a gradient."
            )
        self.device = trained[0][1].device
        self.device_type = self.device.type
        self.device_ids = _checked_devices(device_ids, output_device, [p for _, p in trained])
        self.output_device = output_device
        cap = 25 if bucket_cap_mb is None else bucket_cap_mb
        if cap <= 0:
            raise ValueError(f"bucket_cap_mb must be greater than 0, got {bucket_cap_mb}")
        self.bucket_bytes_cap = int(cap * _MIB)
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        if init_sync:
            states.check_same(self.process_group, list(self._named_parameters()))
            self._broadcast_all(0)
        self._make_reducer()

    def _make_reducer(self) -> None:
        named = [(n, p) for n, p in self._named_parameters() if p.requires_grad]
        self.reducer = Reducer(
            [p for _, p in named],
            [n for n, _ in named],
            self.process_group,
            self.bucket_bytes_cap,
            self.find_unused_parameters,
            self.gradient_as_bucket_view,
            self.static_graph,
        )

    def _named_parameters(self) -> Iterator[tuple[str, Any]]:
        for name, p in self.module.named_parameters():
            if name not in self.parameters_to_ignore:
                yield name, p

    def _shared_buffers(self) -> list[Tensor]:
        named = self.module.named_buffers()
        return [b for name, b in named if name not in self.parameters_to_ignore]

    def _broadcast_all(self, source: int) -> None:
        tensors = [p for _, p in self._named_parameters()]
        states.broadcast(self.process_group, [*tensors, *self._shared_buffers()], source)

    # -- a pass ------------------------------------------------------------------------------
    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Run the module; with gradients on, the backward pass of the result will be reduced."""
        recording = tensorbus.is_grad_enabled() and self.require_backward_grad_sync
        if recording:
            self.reducer.check_finished()
        self._meet_joined()
        self._sync_buffers()
        if self._join_config.enable:
            self._any_rank_reduces(recording)
        if self.device_ids:
            (inputs,), (kwargs,) = scatter_kwargs(inputs, kwargs, self.device_ids, self.dim)
        output = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = recording
        if recording:
            self.reducer.prepare(tensors_in(output) if self.find_unused_parameters else ())
        return output

    def _meet_joined(self) -> None:
        work = Join.notify_join_context(self)
        size = self.process_group.size
        self.reducer.divisor = size
        if work is not None and not self._divide_by_initial_world_size:
            self.reducer.divisor = lambda: int(work.result()[0].item())

    def _buffers_to_sync(self) -> list[Tensor]:
        wanted = self.require_forward_param_sync and self.broadcast_buffers
        return self._shared_buffers() if wanted else []

    def _sync_buffers(self) -> None:
        """Give all ranks the buffers of rank 0, or within ``join`` of one that takes part."""
        buffers = self._buffers_to_sync()
        if buffers:
            source = self._common_rank(True) if self._join_config.enable else 0
            states.broadcast(self.process_group, buffers, source)

    @block
    def no_sync(self) -> Generator[None, None, None]:
        """Inside, backward passes add up gradients on each rank alone.

        The first pass after it averages what has been added up. Forward belongs inside too.
        """
        before = self.require_backward_grad_sync
        try:
            self.require_backward_grad_sync = False
            yield
        finally:
            try:
                self.require_backward_grad_sync = before
            except BaseException:
                self.require_backward_grad_sync = before
                raise

    def register_comm_hook(self, state: Any, hook: Hook) -> None:
        """Let ``hook(state, bucket)`` reduce the buckets; it returns a future of the flat result.

        *bucket* has ``buffer()``, ``index()``, ``gradients()``, ``parameters()`` and ``is_last()``.
        The hook divides itself. RuntimeError where there is one already.

        >>> import tensorbus.distributed as dist
        >>> def summed(group, bucket):
        ...     return dist.all_reduce(bucket.buffer(), group=group, async_op=True).get_future()
        >>> def rank():
        ...     net = nn.Linear(1, 1)
        ...     ddp = nn.parallel.DistributedDataParallel(net)
        ...     ddp.register_comm_hook(None, summed)
        ...     ddp(tensorbus.ones(1, 1)).sum().backward()
        ...     return net.weight.grad.item()
        >>> dist.local.run(rank, 2)
        [2.0, 2.0]
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook can only be called once.")
        self.reducer.hook = (state, hook)

    # -- uneven inputs -----------------------------------------------------------------------
    _divide_by_initial_world_size = True

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """Train inside this where ranks have different numbers of inputs: a context manager.

        Ranks that are through go along with gradients of zero; in the end all have the model of
        those that were the last. Gradients are divided by the number of ranks of the group, or,
        without *divide_by_initial_world_size*, of those that still take part.

        >>> import tensorbus.distributed as dist
        >>> def rank():
        ...     ddp = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
        ...     done = 0
        ...     with ddp.join():
        ...         for i in range(2 + dist.get_rank()):
        ...             ddp(tensorbus.ones(1, 1)).sum().backward()
        ...             done += 1
        ...     return done
        >>> dist.local.run(rank, 2)
        [2, 3]
        """
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What ``Join`` runs on a rank that is through."""
        self._divide_by_initial_world_size = kwargs.get("divide_by_initial_world_size", True)
        return _GoAlong(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The group over which gradients are averaged."""
        return self.process_group

    def _any_rank_reduces(self, own: bool) -> bool:
        """Whether a rank that takes part will reduce gradients in this iteration."""
        flag = tensorbus.tensor([int(own)], dtype=tensorbus.int32, device=self.device)
        dist.all_reduce(flag, group=self.process_group)
        return bool(flag.item())

    def _common_rank(self, candidate: bool) -> int:
        """The highest rank of the group that is a candidate."""
        own = self.process_group.rank() if candidate else -1
        rank = tensorbus.tensor([own], dtype=tensorbus.int32, device=self.device)
        dist.all_reduce(rank, dist.ReduceOp.MAX, group=self.process_group)
        return int(rank.item())

    # -- copies ------------------------------------------------------------------------------
    def __getstate__(self) -> dict[str, Any]:
        if self._given_group is not None:
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default "
                "process group. That is, when you have called init_process_group and have not "
                "passed process_group argument to DDP constructor"
            )
        dropped = ("process_group", "reducer")
        return {name: value for name, value in self.__dict__.items() if name not in dropped}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.process_group = group_or_default(None)
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._make_reducer()


class _GoAlong(JoinHook):
    """Mirrors the collectives of one iteration of a DistributedDataParallel."""

    def __init__(self, ddp: DistributedDataParallel):
        self._ddp = ddp

    def main_hook(self) -> None:
        ddp = self._ddp
        buffers = ddp._buffers_to_sync()
        if buffers:
            states.broadcast(ddp.process_group, buffers, ddp._common_rank(False))
        reduces = ddp._any_rank_reduces(False)
        ddp.require_forward_param_sync = reduces
        if reduces:
            ddp.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        ddp = self._ddp
        ddp._broadcast_all(ddp._common_rank(is_last_joiner))


def _checked_devices(device_ids: Any, output_device: Any, params: list[Tensor]) -> list[Any] | None:
    types = sorted({p.device.type for p in params})
    if len(types) > 1:
        raise ValueError(
            "DistributedDataParallel's input module must be on the same type of devices, but input "
            f"module parameters locate in {types}."
        )
    if not device_ids:
        return None
    if len(device_ids) > 1:
        raise ValueError("device_ids can only be None or contain a single element.")
    devices = {str(p.device) for p in params}
    if len(devices) > 1 or types == ["cpu"]:
        raise ValueError(
            "DistributedDataParallel device_ids and output_device arguments only work with modules "
            f"on one device that is not the CPU, but got device_ids {list(device_ids)}, "
            f"output_device {output_device}, and module parameters on {sorted(devices)}. Leave "
            "both away"
        )
    given = device_ids[0]
    device = tensorbus.device(types[0], given) if isinstance(given, int) else given
    return [tensorbus.device(device)]
