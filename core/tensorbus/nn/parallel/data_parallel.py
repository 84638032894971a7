"""``DataParallel``: one process, several devices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import tensorbus
from tensorbus import accelerator
from tensorbus.nn.modules.module import Module
from tensorbus.nn.parallel.parallel_apply import parallel_apply
from tensorbus.nn.parallel.replicate import replicate
from tensorbus.nn.parallel.scatter_gather import gather, scatter_kwargs


class DataParallel(Module):
    """Cuts each batch into parts, runs a copy of *module* on each device, and gathers the outputs.

    Gradients of all copies add up in *module*. Lists, tuples and dicts of tensors are cut along
    *dim*; everything else goes to every copy. With one device the module is just called.

    Args:
        module: its parameters and buffers are on the first device.
        device_ids: the devices: names, devices or numbers of the module's own device type. All
            devices of that type by default.
        output_device: where outputs are gathered; the first device by default.
        dim: the dimension of the batch.

    Raises:
        RuntimeError: in a forward, where a parameter or buffer is not on the first device.

    Example:
        >>> net = nn.Linear(2, 1)
        >>> nn.DataParallel(net, ["cpu", "cpu"])(tensorbus.ones(5, 2)).shape
        torch.Size([5, 1])
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ):
        super().__init__()
        self.module, self.dim = module, dim
        self.device_ids = _devices(module, device_ids)
        first = self.device_ids[0] if self.device_ids else None
        self.output_device = (
            first if output_device is None else _device(output_device, first.type if first else "")
        )

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The gathered outputs of all copies."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        first = self.device_ids[0]
        for t in chain(self.module.parameters(), self.module.buffers()):
            if not _same(t.device, first):
                raise RuntimeError(
                    f"module must have its parameters and buffers on device {first} "
                    f"(device_ids[0]) but found one of them on device: {t.device}"
                )
        rows, named = scatter_kwargs(inputs, kwargs, self.device_ids, self.dim)
        if not rows:
            rows, named = ((),), ({},)
        if len(self.device_ids) == 1:
            return self.module(*rows[0], **named[0])
        used = self.device_ids[: len(rows)]
        copies = self.replicate(self.module, used)
        return self.gather(self.parallel_apply(copies, rows, named), self.output_device)

    def replicate(self, module: Module, device_ids: Sequence[Any]) -> list[Module]:
        """Copies on the devices; cut off from the module where nothing is recorded."""
        return replicate(module, device_ids, not tensorbus.is_grad_enabled())

    def parallel_apply(
        self, replicas: Sequence[Module], inputs: Sequence[Any], kwargs: Sequence[dict[str, Any]]
    ) -> list[Any]:
        """The outputs of the copies."""
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs: Sequence[Any], output_device: Any) -> Any:
        """One output of all."""
        return gather(outputs, output_device, self.dim)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """``DataParallel`` for one call."""
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    wrapped = DataParallel(module, device_ids, output_device, dim)
    return wrapped(*given, **(module_kwargs or {}))


def _devices(module: Module, given: Sequence[Any] | None) -> list[Any]:
    """The devices to use; none where there is only the CPU."""
    home = next((t.device for t in chain(module.parameters(), module.buffers())), None)
    own = "cpu" if home is None else home.type
    if given is not None:
        return [_device(d, own) for d in given]
    if own == "cpu":
        return []
    return [tensorbus.device(own, i) for i in range(accelerator.device_count(own))]


def _device(given: Any, own: str) -> Any:
    return tensorbus.device(own, given) if isinstance(given, int) else tensorbus.device(given)


def _same(a: Any, b: Any) -> bool:
    return a.type == b.type and (a.index or 0) == (b.index or 0)
