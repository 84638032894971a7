"""What all modules of the older style do: ``forward`` and ``backward`` are called one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorbus
from tensorbus import Tensor
from tensorbus._base.warning import warn_user
from tensorbus.nn import Module as Current


def mapped(value: Any, fn: Callable[[Tensor], Any]) -> Any:
    """*fn* of a tensor, or of those in a table: a list."""
    return [mapped(x, fn) for x in value] if isinstance(value, list | tuple) else fn(value)


def _flat(value: Any) -> list[Tensor]:
    return [x for v in value for x in _flat(v)] if isinstance(value, list | tuple) else [value]


def _leaf(x: Tensor) -> Tensor:
    return x.detach().requires_grad_(x.is_floating_point())


class Module:
    """A module whose gradients are asked for by ``backward(input, gradOutput)``.

    ``output`` and ``gradInput`` keep the last results. Each class warns when an object is made.
    """

    def __init__(self, computed: Callable[[Any], Any] | None = None):
        warn_user(
            f"torch.legacy.nn.{type(self).__name__} is of PyTorch 0.1: use the classes of torch.nn",
            FutureWarning,
        )
        self._computed = computed
        self.output: Any = None
        self.gradInput: Any = None
        self._last: tuple[Any, Any, Any] = (None, None, None)
        self.train = True

    def _run(self, input: Any) -> Any:
        """What the module computes, with gradients."""
        if self._computed is None:
            raise NotImplementedError(f"{type(self).__name__} has no updateOutput")
        return self._computed(input)

    def _inner(self) -> list[Current]:
        """The modules of ``torch.nn`` that compute for it."""
        return [self._computed] if isinstance(self._computed, Current) else []

    def forward(self, input: Any) -> Any:
        """The result; ``output`` keeps it."""
        leaves = mapped(input, _leaf)
        with tensorbus.enable_grad():
            result = self._run(leaves)
        self._last = (input, leaves, result)
        self.output = mapped(result, lambda x: x.detach())
        return self.output

    updateOutput = __call__ = forward

    def backward(self, input: Any, gradOutput: Any, scale: float = 1) -> Any:
        """The gradient of the input; those of the parameters are added up, times *scale*."""
        if self._last[0] is not input:
            self.forward(input)
        _, leaves, result = self._last
        weights = self._weights()
        inputs = [x for x in _flat(leaves) if x.requires_grad]
        found = iter(
            tensorbus.autograd.grad(
                _flat(result), [*inputs, *weights], _flat(gradOutput),
                retain_graph=True, allow_unused=True,
            )
        )  # fmt: skip
        given = {id(x): next(found) for x in inputs}
        for weight, gradient in zip(weights, found, strict=True):
            if gradient is not None:
                if weight.grad is None:
                    weight.grad = tensorbus.zeros_like(weight)
                weight.grad.add_(gradient, alpha=scale)

        def of(x: Tensor) -> Tensor:
            gradient = given.get(id(x))
            return tensorbus.zeros_like(x) if gradient is None else gradient

        self.gradInput = mapped(leaves, of)
        return self.gradInput

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        """The gradient of the input, without those of the parameters."""
        return self.backward(input, gradOutput, 0)

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        """Add the gradients of the parameters up, times *scale*."""
        self.backward(input, gradOutput, scale)

    def _weights(self) -> list[Tensor]:
        return [p for m in self._inner() for p in m.parameters()]

    def parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        """The parameters, and their gradients."""
        weights = self._weights()
        for weight in weights:
            if weight.grad is None:
                weight.grad = tensorbus.zeros_like(weight)
        return [w.data for w in weights], [w.grad for w in weights if w.grad is not None]

    def flattenParameters(self) -> tuple[Tensor, Tensor]:
        """All parameters as one vector, and all gradients: they share its memory from now on."""
        weights, gradients = self.parameters()
        flat = tensorbus.cat([w.reshape(-1) for w in weights])
        flat_gradients = tensorbus.cat([g.reshape(-1) for g in gradients])
        start = 0
        for weight in self._weights():
            end = start + weight.numel()
            weight.data = flat[start:end].view(weight.shape)
            weight.grad = flat_gradients[start:end].view(weight.shape)
            start = end
        return flat, flat_gradients

    getParameters = flattenParameters

    def zeroGradParameters(self) -> None:
        """Set the gradients to zero."""
        for gradient in self.parameters()[1]:
            gradient.zero_()

    def updateParameters(self, learningRate: float) -> None:
        """Take a step against the gradients."""
        for weight, gradient in zip(*self.parameters(), strict=True):
            weight.sub_(gradient, alpha=learningRate)

    def training(self) -> None:
        """Compute as in training."""
        self._set(True)

    def evaluate(self) -> None:
        """Compute as in use."""
        self._set(False)

    def _set(self, mode: bool) -> None:
        self.train = mode
        for module in self._inner():
            module.train(mode)

    @property
    def weight(self) -> Any:
        """The weight, of layers that have one."""
        return self._inner()[0].weight.data

    @property
    def bias(self) -> Any:
        """The bias, of layers that have one."""
        return self._inner()[0].bias.data

    def __repr__(self) -> str:
        return f"nn.{type(self).__name__}"


class Criterion(Module):
    """A loss: ``forward(input, target)`` is a number, ``backward(input, target)`` its gradient."""

    def forward(self, input: Any, target: Any) -> float:  # type: ignore[override]
        """The loss."""
        leaves = mapped(input, _leaf)
        with tensorbus.enable_grad():
            result = self._computed(leaves, target)  # type: ignore[misc,call-arg]
        self._last = ((input, target), leaves, result)
        self.output = result.item()
        return float(self.output)

    updateOutput = __call__ = forward  # type: ignore[assignment]

    def backward(self, input: Any, target: Any) -> Any:  # type: ignore[override]
        """The gradient of the input."""
        known = self._last[0]
        if known is None or known[0] is not input or known[1] is not target:
            self.forward(input, target)
        _, leaves, result = self._last
        found = iter(tensorbus.autograd.grad(result, _flat(leaves), retain_graph=True))
        self.gradInput = mapped(leaves, lambda x: next(found))
        return self.gradInput

    updateGradInput = backward  # type: ignore[assignment]
