"""Copies of a module on other devices, whose gradients flow back into the module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.modules.module import Module


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """A copy of *network* on each device, for one forward.

    Parameters of a copy are results of moving the network's, so that backward adds up the
    gradients of all copies there; with *detach* they are cut off. Where a copy is on a parameter's
    own device it shares its memory, and so do buffers: what a forward there writes into them
    stays.

    >>> from tensorbus.nn.parallel import replicate
    >>> net = nn.Linear(1, 1)
    >>> a, b = replicate(net, ["cpu", "cpu"])
    >>> (a(tensorbus.ones(1, 1)) + b(tensorbus.ones(1, 1))).sum().backward()
    >>> net.weight.grad
    tensor([[2.]])
    """
    return [_copy(network, tensorbus.device(device), detach) for device in devices]


def _copy(network: Module, device: Any, detach: bool) -> Module:
    moved: dict[int, Any] = {}

    def move(t: Tensor) -> Tensor:
        if id(t) not in moved:
            # A view and not the parameter itself: the hooks of the leaf belong to its sum.
            made = t.detach() if detach else t
            made = made.to(device)
            moved[id(t)] = made.view_as(made) if made is t else made
        return moved[id(t)]

    copies: dict[int, Module] = {}
    for module in network.modules():
        copies[id(module)] = _bare_copy(module)
    for module in network.modules():
        copy = copies[id(module)].__dict__
        copy["_parameters"] = _mapped(module._parameters, move)
        copy["_buffers"] = _mapped(module._buffers, lambda b: b.detach().to(device))
        copy["_modules"] = _mapped(module._modules, lambda m: copies[id(m)])
    return copies[id(network)]


def _mapped(table: dict[str, Any], f: Callable[[Any], Any]) -> dict[str, Any]:
    return {name: None if value is None else f(value) for name, value in table.items()}


def _bare_copy(module: Module) -> Module:
    copy = module.__new__(type(module))
    copy.__dict__.update(module.__dict__)
    return copy
