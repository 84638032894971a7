"""Adafactor: the second moments of a matrix from those of its rows and of its columns."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.optim._shared import count_step, new_step
from tensorbus.optim.optimizer import Optimizer, ParamsT


class Adafactor(Optimizer):
    """Steps by the gradient over the root of its second moments, which cost little memory.

    Of a matrix, or a batch of them, the means over rows and those over columns are kept; their
    product over the mean of all estimates the second moments. The update is limited to a root mean
    square of *d*, and goes by that of the parameter, at least *eps[1]*.

    Args:
        params: tensors, pairs of name and tensor, or groups.
        lr: the largest relative step, and the factor of the weight decay.
        beta2_decay: 1 - t to this power of the old moments remains in step t.
        eps: what limits the second moments from below, by default the eps of the parameter's
            dtype, and what limits the root mean square of the parameter.
        d: the limit of the update.
        weight_decay: parameters shrink by lr weight_decay in each step.
        foreach: accepted for compatibility; it changes nothing.
        maximize: go up instead of down.

    RuntimeError for complex parameters, and for sparse gradients.

    Example:
        >>> weight = nn.Parameter(tensorbus.ones(2, 3))
        >>> optimizer = optim.Adafactor([weight], lr=0.5)
        >>> weight.sum().backward()
        >>> optimizer.step()
        >>> weight.detach()[0]
        tensor([0.5000, 0.5000, 0.5000])

    Source: https://pytorch.org/docs/stable/generated/torch.optim.Adafactor.html
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for right, what, limit, value in (
            (lr >= 0.0, "Learning rate", ">= 0", lr),
            (beta2_decay <= 0.0, "beta2_decay", "<= 0", beta2_decay),
            (eps[0] is None or eps[0] >= 0.0, "epsilon1", ">= 0", eps[0]),
            (eps[1] >= 0.0, "epsilon2", ">= 0", eps[1]),
            (d >= 1.0, "Clipping threshold d", ">= 1", d),
            (weight_decay >= 0.0, "weight_decay", ">= 0", weight_decay),
        ):
            if not right:
                raise ValueError(f"{what} should be {limit} but is: {value}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _update(self, group: dict[str, Any]) -> None:
        for param, grad in self._gradients(group):
            if param.is_complex():
                raise RuntimeError("Adafactor does not support complex parameters")
            if grad.is_sparse:
                raise RuntimeError("Adafactor does not support sparse gradients")
            state = self.state[param]
            if not state:
                _start(state, grad)
            if param.numel():
                _step(param, -grad if group["maximize"] else grad, state, group)


def _start(state: dict[str, Any], grad: Tensor) -> None:
    state["step"] = new_step()
    if grad.dim() > 1:
        state["row_var"] = grad.new_zeros([*grad.shape[:-1], 1])
        state["col_var"] = grad.new_zeros([*grad.shape[:-2], 1, grad.shape[-1]])
    else:
        state["variance"] = tensorbus.zeros_like(grad)


def _step(param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
    """Nothing is read from the device here: what hangs on norms stays a tensor."""
    steps, lr, eps = count_step(state), float(group["lr"]), group["eps"]
    lowest = tensorbus.finfo(param.dtype).eps if eps[0] is None else eps[0]
    size = param.square().mean().sqrt().clamp(min=eps[1])
    if group["weight_decay"] != 0:
        param.mul_(1 - lr * group["weight_decay"])
    moments = _moments(grad, state, steps ** group["beta2_decay"], lowest)
    update = moments.clamp_(min=lowest * lowest).rsqrt_().mul_(grad)
    excess = (update.square().mean().sqrt() / group["d"]).clamp(min=1.0)
    param.sub_(update.mul_(size * min(lr, steps**-0.5) / excess))


def _moments(grad: Tensor, state: dict[str, Any], new: float, lowest: float) -> Tensor:
    """The estimate of the second moments, into which the gradient has come."""
    squares = grad.square()
    if grad.dim() <= 1:
        moments: Tensor = state["variance"].lerp_(squares, new).clone()
        return moments
    rows = state["row_var"].lerp_(squares.mean(-1, keepdim=True), new)
    columns = state["col_var"].lerp_(squares.mean(-2, keepdim=True), new)
    product: Tensor = rows * columns
    return product.div_(rows.mean(-2, keepdim=True).clamp_(min=lowest))
