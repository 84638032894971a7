"""Averages gradients over the ranks, bucket by bucket, while the backward pass goes on."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tensorbus
from tensorbus import distributed as dist
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.early import queue_callback
from tensorbus.autograd.node import AccumulateGrad
from tensorbus.nn.parallel.buckets import FIRST_BYTES, Bucket, assign
from tensorbus.nn.parallel.comm_hook import GradBucket
from tensorbus.nn.parallel.errors import marked_twice, unfinished
from tensorbus.op_engine.history import edge_of

Hook = Callable[[Any, GradBucket], Any]


class Reducer:
    """The gradients of one DistributedDataParallel.

    A pass is *expected* after a forward that records, and *running* from the first gradient that
    comes. Buckets are reduced in one order on all ranks, each as soon as it and all before it are
    full; what was reduced is written back at the end of the backward pass.
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        names: Sequence[str],
        group: Any,
        bucket_bytes: int,
        find_unused: bool,
        bucket_view: bool,
        static_graph: bool,
    ):
        self.params, self.names, self.group = list(params), list(names), group
        self._find_unused, self._bucket_view = find_unused, bucket_view
        self._static = static_graph
        self._static_unused: set[int] | None = None
        """What this rank never uses, known after the first pass of a static graph."""
        self._static_used: list[bool] | None = None
        """What any rank uses, known after that pass too."""
        self.buckets = assign(self.params, (min(FIRST_BYTES, bucket_bytes), bucket_bytes))
        self._slot = {
            i: (b, n) for b in self.buckets for n, i in enumerate(b.indices)
        }  # fmt: skip
        self._expected = self._running = False
        self._marked: set[int] = set()
        self._unused: set[int] = set()
        self._used = [False] * len(self.params)
        self._next = 0
        self.divisor: Callable[[], int] = group.size
        """By what sums are divided; set anew by a forward within ``join``."""
        self.hook: tuple[Any, Hook] | None = None
        self._listen()

    def _listen(self) -> None:
        # By weak references: a wrapper that is gone leaves hooks that do nothing, and takes
        # them away when it is collected.
        me = weakref.ref(self)

        def listener(i: int) -> Callable[[Tensor], None]:
            def arrived(_: Tensor) -> None:
                reducer = me()
                if reducer is not None:
                    reducer._arrived(i)

            return arrived

        handles = [
            p.register_post_accumulate_grad_hook(listener(i)) for i, p in enumerate(self.params)
        ]

        def forget() -> None:
            for handle in handles:
                handle.remove()

        weakref.finalize(self, forget).atexit = False

    # -- before a backward pass --------------------------------------------------------------
    def check_finished(self) -> None:
        """RuntimeError where the pass before left parameters without gradients."""
        if not self._running:
            return
        self.group.check()  # where the group has failed, that is why
        missing = [i for i in range(len(self.params)) if i not in self._marked]
        raise unfinished(
            self.group.rank(),
            [(i, self.names[i]) for i in missing],
            searched=self._find_unused,
            static=self._static_unused is not None,
        )

    def prepare(self, outputs: Iterable[Tensor]) -> None:
        """A forward that records is over: its backward will be reduced."""
        self._expected, self._running = True, False
        self._marked, self._next = set(), 0
        for bucket in self.buckets:
            bucket.missing, bucket.work = len(bucket.indices), None
        if self._static_unused is not None:
            self._unused = self._static_unused
        elif self._find_unused and not self._static:
            reached = _leaves(outputs)
            self._unused = {
                i for i, p in enumerate(self.params) if edge_of(p) not in reached
            }  # fmt: skip

    # -- during it ---------------------------------------------------------------------------
    def _arrived(self, i: int) -> None:
        self._used[i] = True
        if not self._expected:
            return
        if not self._running:
            self._running = True
            if self._static and self._static_unused is None:
                queue_callback(self._end_first_static)
            for unused in sorted(self._unused):
                self._mark(unused)
        self._mark(i)

    def _end_first_static(self) -> None:
        """What has not come in the first pass of a static graph never will."""
        if self._expected:
            self._static_unused = {i for i, used in enumerate(self._used) if not used}
            for i in sorted(set(range(len(self.params))) - self._marked):
                self._mark(i)

    def _mark(self, i: int) -> None:
        if i in self._marked:
            raise marked_twice(i, self.names[i], static=self._static_unused is not None)
        self._marked.add(i)
        bucket, n = self._slot[i]
        param, view = self.params[i], bucket.views[n]
        grad = param.grad
        with tensorbus.no_grad():
            if grad is None:
                view.zero_()
            elif grad is not view:
                view.copy_(grad)
                if self._bucket_view and not grad.requires_grad:
                    param.grad = view
        bucket.missing -= 1
        if bucket.missing:
            return
        while self._next < len(self.buckets) and not self.buckets[self._next].missing:
            self._launch(self.buckets[self._next])
            self._next += 1
        if self._next == len(self.buckets):
            queue_callback(self._finish)

    @property
    def _maps_used(self) -> bool:
        """Whether ranks tell each other which parameters they used."""
        return self._static_used is None if self._static else self._find_unused

    def _launch(self, bucket: Bucket) -> None:
        last = bucket is self.buckets[-1]
        if self.hook is not None:
            state, hook = self.hook
            bucket.work = hook(state, GradBucket(bucket, bucket.flat, last))
            if not hasattr(bucket.work, "wait"):
                raise TypeError(
                    f"the communication hook returned {type(bucket.work).__name__}: it must return "
                    "a future, such as async_op=True gives with get_future()"
                )
            return
        with tensorbus.no_grad():
            bucket.flat.div_(self.divisor())
        if not last:
            bucket.work = dist.all_reduce(bucket.flat, group=self.group, async_op=True)

    # -- at its end --------------------------------------------------------------------------
    def _finish(self) -> None:
        """Wait for the reductions and write the averages into ``.grad``."""
        self._expected = self._running = False
        used, self._used = self._used, [False] * len(self.params)
        last = self.buckets[-1]
        if last.work is None:
            # There is nothing left to overlap with: no other thread has to take it over.
            dist.all_reduce(last.flat, group=self.group)
        if self._maps_used:
            used = self._used_anywhere(used)
        elif self._static_used is not None:
            used = self._static_used
        for bucket in self.buckets:
            if bucket.work is not None:
                self._wait(bucket)
            for i, param, view in zip(bucket.indices, bucket.params, bucket.views, strict=True):
                if used[i]:
                    self._write_back(param, view)

    def _used_anywhere(self, used: Sequence[bool]) -> list[bool]:
        device = self.params[0].device
        counts = tensorbus.tensor([int(u) for u in used], dtype=tensorbus.int32, device=device)
        dist.all_reduce(counts, group=self.group)
        found = [n > 0 for n in counts.tolist()]
        if self._static:
            self._static_used = found
        return found

    def _wait(self, bucket: Bucket) -> None:
        work, bucket.work = bucket.work, None
        value = work.wait()
        if self.hook is None:
            return
        value = value[0] if isinstance(value, (list, tuple)) else value
        if not isinstance(value, Tensor) or value.numel() != bucket.flat.numel():
            raise RuntimeError(
                f"the communication hook gave {type(value).__name__} for bucket {bucket.index}: "
                f"its future must hold a tensor of {bucket.flat.numel()} elements"
            )
        if value is not bucket.flat:
            with tensorbus.no_grad():
                bucket.flat.copy_(value.reshape(-1))

    def _write_back(self, param: Tensor, view: Tensor) -> None:
        grad = param.grad
        with tensorbus.no_grad():
            if self._bucket_view and (grad is None or not grad.requires_grad):
                param.grad = view
            elif grad is None:
                param.grad = tensorbus.empty_like(param).copy_(view)
            else:
                grad.copy_(view)

    # -- for ranks that have run out of inputs -----------------------------------------------
    def shadow(self) -> None:
        """Take part in another rank's backward pass, with gradients of zero.

        Afterwards ``.grad`` has the average as on that rank: a sharded optimizer needs it here.
        """
        self.prepare(())
        for bucket in self.buckets:
            bucket.flat.zero_()
            self._launch(bucket)
        # Where ranks tell what they used this one has used nothing; otherwise all use all.
        self._used = [not self._maps_used] * len(self.params)
        self._finish()


def _leaves(outputs: Iterable[Tensor]) -> set[Any]:
    """The leaves that the outputs were made from."""
    stack = [edge_of(t) for t in outputs]
    seen: set[Any] = set()
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            if type(node) is not AccumulateGrad:
                stack.extend(node.edges())
    return seen
