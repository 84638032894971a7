"""``ZeroRedundancyOptimizer``: each rank keeps the optimizer state of its own parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus import distributed as dist
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributed.algorithms.join import Join, Joinable, JoinHook
from tensorbus.distributed.lifecycle import group_or_default
from tensorbus.distributed.process_group import ProcessGroup
from tensorbus.nn.parallel.states import broadcast
from tensorbus.optim.optimizer import Optimizer, ParamsT


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """Splits another optimizer's work: each parameter is stepped, with its state, on one rank.

    All ranks hold all parameters and their averaged gradients, as under
    ``DistributedDataParallel``. In ``step`` each rank steps its own parameters and gives the new
    values to the others. Parameters are dealt out by size, so that all ranks have about as much.

    Args:
        params: tensors, pairs of name and tensor, or groups, the same on all ranks.
        optimizer_class: the optimizer that steps, such as ``tensorbus.optim.Adam``.
        process_group: the ranks; all of them by default.
        defaults: the optimizer's options.

    Example:
        >>> import tensorbus.distributed as dist
        >>> from tensorbus.distributed.optim import ZeroRedundancyOptimizer
        >>> def rank():
        ...     w = [tensorbus.ones(n, requires_grad=True) for n in (3, 2, 1)]
        ...     adam = ZeroRedundancyOptimizer(w, tensorbus.optim.Adam, lr=0.5)
        ...     sum(x.sum() for x in w).backward()
        ...     adam.step()
        ...     return [x.sum().item() for x in w], len(adam.optim.state)
        >>> dist.local.run(rank, 2)
        [([1.5, 1.0, 0.5], 1), ([1.5, 1.0, 0.5], 2)]
    """

    optim: Optimizer
    """The optimizer of this rank's own parameters."""

    def __init__(
        self,
        params: ParamsT,
        optimizer_class: type[Optimizer],
        process_group: ProcessGroup | None = None,
        **defaults: Any,
    ):
        self.process_group = group_or_default(process_group)
        self._owner: dict[int, int] = {}
        self._load = [0] * self.process_group.size()
        self._made = False
        self._all_states: list[dict[int, Any]] = []
        super().__init__(params, defaults)
        for group in self.param_groups:
            self._deal(group["params"])
        local = [self._local_group(group) for group in self.param_groups]
        self.optim = optimizer_class(local, **defaults)
        # Options that were not given have the optimizer's own defaults.
        self.defaults = self.optim.defaults
        self._take_options()
        self.state = self.optim.state
        self._made = True

    # -- who owns what -----------------------------------------------------------------------
    def _deal(self, params: list[Tensor]) -> None:
        """Give each parameter, the largest first, to the rank that has least."""
        for p in sorted(params, key=lambda p: -p.numel()):
            rank = self._load.index(min(self._load))
            self._owner[id(p)] = rank
            self._load[rank] += p.numel() * p.element_size()

    def _owned(self, group: dict[str, Any], rank: int) -> list[int]:
        """The indices in a group of the parameters that a rank owns."""
        return [i for i, p in enumerate(group["params"]) if self._owner[id(p)] == rank]

    def _local_group(self, group: dict[str, Any]) -> dict[str, Any]:
        indices = self._owned(group, self.process_group.rank())
        local = {**group, "params": [group["params"][i] for i in indices]}
        if "param_names" in group:
            names = [group["param_names"][i] for i in indices]
            del local["param_names"]
            local["params"] = list(zip(names, local["params"], strict=True)) if names else []
            if not names:
                local["param_names"] = []
        return local

    def _take_options(self) -> None:
        """Copy the local optimizer's options: it may have changed them in its step."""
        for group, local in zip(self.param_groups, self.optim.param_groups, strict=True):
            group.update({k: v for k, v in local.items() if k not in ("params", "param_names")})

    def _give_options(self) -> None:
        """Copy options to the local optimizer: schedulers change ours."""
        for group, local in zip(self.param_groups, self.optim.param_groups, strict=True):
            local.update({k: v for k, v in group.items() if k not in ("params", "param_names")})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group, on all ranks alike."""
        super().add_param_group(param_group)
        if self._made:
            added = self.param_groups[-1]
            self._deal(added["params"])
            self.optim.add_param_group(self._local_group(added))
            self._take_options()

    # -- stepping ----------------------------------------------------------------------------
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Step this rank's parameters and exchange the new values; what the closure returned."""
        Join.notify_join_context(self)
        self._give_options()
        loss = self.optim.step(closure)
        self._take_options()
        for rank in range(self.process_group.size()):
            params = [g["params"][i] for g in self.param_groups for i in self._owned(g, rank)]
            broadcast(self.process_group, params, rank)
        return loss

    # -- checkpoints -------------------------------------------------------------------------
    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collect the state of all ranks on rank *to*. All ranks call it."""
        self._give_options()
        pg = self.process_group
        wanted = pg.rank() == dist.get_group_rank(pg, to)
        states: list[Any] | None = [None] * pg.size() if wanted else None
        dist.gather_object(self.optim.state_dict()["state"], states, dst=to, group=pg)
        self._all_states = states or []

    def state_dict(self) -> dict[str, Any]:
        """The state of all ranks as the plain optimizer would give it.

        RuntimeError on a rank for which ``consolidate_state_dict`` was not called.
        """
        if not self._all_states:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.process_group.me})` on all ranks beforehand if "
                "you meant to save the global state."
            )
        whole = super().state_dict()
        whole["state"] = {}
        for rank, state in enumerate(self._all_states):
            for local, index in enumerate(self._numbers(rank)):
                if local in state:
                    whole["state"][index] = state[local]
        whole["state"] = dict(sorted(whole["state"].items()))
        return whole

    def _numbers(self, rank: int) -> list[int]:
        """The numbers, through all groups, of a rank's parameters in its own order."""
        found, start = [], 0
        for group in self.param_groups:
            found += [start + i for i in self._owned(group, rank)]
            start += len(group["params"])
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` of this or of the plain optimizer gave; each rank its part.

        All ranks call it with the same state, or with what concerns their own parameters.
        """
        saved = state_dict["state"]
        mine = set(self._numbers(self.process_group.rank()))
        super().load_state_dict(
            {**state_dict, "state": {k: v for k, v in saved.items() if k in mine}}
        )
        self._all_states = []
        self.optim.state = self.state
        self._give_options()

    # -- uneven inputs -----------------------------------------------------------------------
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What ``Join`` runs on a rank that is through: its parameters still have to be stepped."""
        return _GoAlong(self)

    @property
    def join_device(self) -> Any:
        """The device of the first parameter."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        """The ranks over which the state is split."""
        return self.process_group


class _GoAlong(JoinHook):
    def __init__(self, optimizer: ZeroRedundancyOptimizer):
        self._optimizer = optimizer

    def main_hook(self) -> None:
        self._optimizer.step()
