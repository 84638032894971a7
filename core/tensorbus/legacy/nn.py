"""``torch.legacy.nn``: containers, layers and criteria with Lua's names and arguments.

>>> import warnings
>>> import tensorbus as torch
>>> import tensorbus.legacy.nn as nn
>>> warnings.simplefilter("ignore")
>>> net = nn.Sequential().add(nn.Linear(3, 2)).add(nn.Tanh())
>>> x = torch.ones(4, 3)
>>> net.forward(x).shape, net.backward(x, torch.ones(4, 2)).shape
(torch.Size([4, 2]), torch.Size([4, 3]))
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import tensorbus
from tensorbus import nn
from tensorbus.legacy.module import Criterion, Module

Current = nn.Module


class Container(Module):
    """A module of modules."""

    def __init__(self) -> None:
        super().__init__()
        self.modules: list[Module] = []

    def add(self, module: Module) -> Container:
        """Put a module behind the others; gives the container."""
        self.modules.append(module)
        return self

    def insert(self, module: Module, index: int | None = None) -> None:
        """Put a module before that of an index."""
        self.modules.insert(len(self.modules) if index is None else index, module)

    def get(self, index: int) -> Module:
        """The module of an index."""
        return self.modules[index]

    def remove(self, index: int = -1) -> None:
        """Take a module out."""
        del self.modules[index]

    def size(self) -> int:
        """How many modules it has."""
        return len(self.modules)

    def __len__(self) -> int:
        return len(self.modules)

    def _inner(self) -> list[Current]:
        return [m for module in self.modules for m in module._inner()]

    def __repr__(self) -> str:
        lines = [f"  ({i}): {module!r}" for i, module in enumerate(self.modules)]
        return "\n".join((f"nn.{type(self).__name__} {{", *lines, "}"))


class Sequential(Container):
    """Each module gets what the one before it gives."""

    def _run(self, input: Any) -> Any:
        return reduce(lambda x, module: module._run(x), self.modules, input)


class Concat(Container):
    """All modules get the input; their results are joined along a dimension."""

    def __init__(self, dimension: int):
        super().__init__()
        self.dimension = dimension

    def _run(self, input: Any) -> Any:
        return tensorbus.cat([module._run(input) for module in self.modules], self.dimension)


class ConcatTable(Container):
    """All modules get the input; the result is the table of theirs."""

    def _run(self, input: Any) -> Any:
        return [module._run(input) for module in self.modules]


class ParallelTable(Container):
    """Each module gets its part of a table; the result is the table of theirs."""

    def _run(self, input: Any) -> Any:
        return [module._run(x) for module, x in zip(self.modules, input, strict=True)]


def _layer(name: str, build: Callable[..., Any]) -> type[Module]:
    def __init__(self: Module, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self, build(*args, **kwargs))

    doc = f"Lua's ``nn.{name}``, with its arguments."
    return type(name, (Module,), {"__init__": __init__, "__doc__": doc, "__module__": __name__})


def _criterion(name: str, build: Callable[..., Current]) -> type[Criterion]:
    def __init__(self: Criterion, weights: Any = None, sizeAverage: Any = True) -> None:
        if isinstance(weights, bool):
            weights, sizeAverage = None, weights
        more = {} if weights is None else {"weight": weights}
        reduction = "mean" if sizeAverage else "sum"
        Criterion.__init__(self, build(reduction=reduction, **more))

    doc = f"Lua's ``nn.{name}``: ``{name}(weights, sizeAverage)``."
    return type(name, (Criterion,), {"__init__": __init__, "__doc__": doc, "__module__": __name__})


def _planes(nIn: int, nOut: int, kW: int, kH: int, dW: int = 1, dH: int = 1,
            padW: int = 0, padH: int | None = None) -> Current:  # fmt: skip
    return nn.Conv2d(nIn, nOut, (kH, kW), (dH, dW), (padW if padH is None else padH, padW))


def _pool(cls: Callable[..., Current]) -> Callable[..., Current]:
    def build(kW: int, kH: int, dW: int | None = None, dH: int | None = None,
              padW: int = 0, padH: int = 0) -> Current:  # fmt: skip
        return cls((kH, kW), (dH or kH, dW or kW), (padH, padW))

    return build


def _shape(*sizes: Any) -> Callable[[Any], Any]:
    wanted = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    return lambda x: x.reshape(tuple(wanted))


def _of_samples(*sizes: Any) -> Callable[[Any], Any]:
    wanted = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    return lambda x: x.reshape(x.shape[0], *wanted)


Linear = _layer("Linear", nn.Linear)
Identity = _layer("Identity", nn.Identity)
Dropout = _layer("Dropout", nn.Dropout)
Tanh, ReLU, Sigmoid = (_layer(n, getattr(nn, n)) for n in ("Tanh", "ReLU", "Sigmoid"))
LogSoftMax = _layer("LogSoftMax", lambda: nn.LogSoftmax(-1))
SoftMax = _layer("SoftMax", lambda: nn.Softmax(-1))
LookupTable = _layer("LookupTable", nn.Embedding)
BatchNormalization = _layer("BatchNormalization", nn.BatchNorm1d)
SpatialBatchNormalization = _layer("SpatialBatchNormalization", nn.BatchNorm2d)
SpatialConvolution = _layer("SpatialConvolution", _planes)
SpatialMaxPooling = _layer("SpatialMaxPooling", _pool(nn.MaxPool2d))
SpatialAveragePooling = _layer("SpatialAveragePooling", _pool(nn.AvgPool2d))
View = _layer("View", _shape)
Reshape = _layer("Reshape", _of_samples)
JoinTable = _layer("JoinTable", lambda dimension: lambda xs: tensorbus.cat(xs, dimension))
SelectTable = _layer("SelectTable", lambda index: lambda xs: xs[index])
CAddTable = _layer("CAddTable", lambda: lambda xs: reduce(tensorbus.add, xs))
CMulTable = _layer("CMulTable", lambda: lambda xs: reduce(tensorbus.mul, xs))
CSubTable = _layer("CSubTable", lambda: lambda xs: tensorbus.sub(xs[0], xs[1]))
CDivTable = _layer("CDivTable", lambda: lambda xs: tensorbus.div(xs[0], xs[1]))

MSECriterion = _criterion("MSECriterion", nn.MSELoss)
AbsCriterion = _criterion("AbsCriterion", nn.L1Loss)
SmoothL1Criterion = _criterion("SmoothL1Criterion", nn.SmoothL1Loss)
BCECriterion = _criterion("BCECriterion", nn.BCELoss)
ClassNLLCriterion = _criterion("ClassNLLCriterion", nn.NLLLoss)
CrossEntropyCriterion = _criterion("CrossEntropyCriterion", nn.CrossEntropyLoss)
