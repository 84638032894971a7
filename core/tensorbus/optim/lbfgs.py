"""L-BFGS: a quasi-Newton method with limited memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.optim._shared import check_lr
from tensorbus.optim.line_search import Point, strong_wolfe
from tensorbus.optim.optimizer import Optimizer, ParamsT


class LBFGS(Optimizer):
    """Newton's method with the inverse Hessian estimated from the last gradients.

    It takes one group only, and ``step`` needs a closure that it calls several times.

    Args:
        params: tensors or pairs of name and tensor.
        lr: factor of the step.
        max_iter: iterations in each ``step``.
        max_eval: calls of the closure in each ``step``; 1.25 max_iter by default.
        tolerance_grad: stop where no element of the gradient is larger.
        tolerance_change: stop where neither loss nor parameters change more.
        history_size: how many gradients are kept.
        line_search_fn: 'strong_wolfe' or None.

    Example:
        >>> x = tensorbus.tensor([4.0, -2.0], requires_grad=True)
        >>> optimizer = optim.LBFGS([x], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((x - 1) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure)
        tensor(18., grad_fn=<SumBackward0>)
        >>> x
        tensor([1., 1.], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        defaults: dict[str, Any] = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_params": self._params}

    def step(self, closure: Callable[[], Any]) -> Any:
        """Run up to ``max_iter`` iterations and return the first loss."""
        with tensorbus.no_grad():
            return self._minimise(closure)

    def _minimise(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        lr, tolerance_change = float(group["lr"]), group["tolerance_change"]
        # The state is one for all parameters; it is kept with the first.
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss, here = self._evaluate(closure)
        evals = 1
        state["func_evals"] += 1
        if here.largest_slope() <= group["tolerance_grad"]:
            return first_loss

        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, here.grad)
            state["d"] = direction
            state["prev_flat_grad"] = here.grad.clone()
            state["prev_loss"] = here.loss
            step = lr
            if state["n_iter"] == 1:
                step = min(1.0, 1.0 / here.grad.abs().sum().item()) * lr
            state["t"] = step
            slope = here.grad.dot(direction).item()
            if slope > -tolerance_change:
                break

            before, used = here, 0
            if group["line_search_fn"] is not None:
                here, step, used = self._search(closure, here, step, direction, slope, evals)
                state["t"] = step
            else:
                self._move(direction, step)
                if iteration != group["max_iter"]:
                    # The last point is not evaluated: in training the next batch differs.
                    _, here = self._evaluate(closure)
                    used = 1
            evals += used
            state["func_evals"] += used

            if iteration == group["max_iter"] or evals >= group["max_eval"]:
                break
            if here.largest_slope() <= group["tolerance_grad"]:
                break
            if direction.abs().max().item() * abs(step) <= tolerance_change:
                break
            if abs(here.loss - before.loss) < tolerance_change:
                break
        return first_loss

    def _direction(self, state: dict[str, Any], grad: Tensor) -> Tensor:
        """Minus the estimated inverse Hessian times the gradient, by the two-loop recursion."""
        if "t" not in state:  # the first iteration, or an interrupt came in it
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return grad.neg()
        changes, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        change = grad.sub(state["prev_flat_grad"])
        step = state["d"].mul(state["t"])
        curvature = change.dot(step).item()
        if curvature > 1e-10:
            if len(changes) == self.param_groups[0]["history_size"]:
                for history in (changes, steps, inverses):
                    history.pop(0)
            changes.append(change)
            steps.append(step)
            inverses.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change).item()
        rows = list(zip(changes, steps, inverses, strict=True))
        result = grad.neg()
        weights = []
        for old_change, old_step, inverse in reversed(rows):
            weight = old_step.dot(result).item() * inverse
            weights.append(weight)
            result.add_(old_change, alpha=-weight)
        result.mul_(state["H_diag"])
        for (old_change, old_step, inverse), weight in zip(rows, reversed(weights), strict=True):
            back = old_change.dot(result).item() * inverse
            result.add_(old_step, alpha=weight - back)
        return result

    def _search(
        self,
        closure: Callable[[], Any],
        here: Point,
        step: float,
        direction: Tensor,
        slope: float,
        evals: int,
    ) -> tuple[Point, float, int]:
        start = [param.clone() for param in self._params]

        def back() -> None:
            for param, value in zip(self._params, start, strict=True):
                param.copy_(value)

        def at(length: float) -> Point:
            self._move(direction, length)
            _, point = self._evaluate(closure)
            back()
            return point

        limit = self.param_groups[0]["max_eval"] - evals
        here, step, used = strong_wolfe(at, here, step, direction, slope, max_ls=limit)
        self._move(direction, step)
        return here, step, used

    def _evaluate(self, closure: Callable[[], Any]) -> tuple[Any, Point]:
        with tensorbus.enable_grad():
            loss = closure()
        return loss, Point(float(loss), self._flat_grad())

    def _flat_grad(self) -> Tensor:
        parts = []
        for param in self._params:
            grad = tensorbus.zeros_like(param) if param.grad is None else param.grad.to_dense()
            parts.append((tensorbus.view_as_real(grad) if grad.is_complex() else grad).reshape(-1))
        return tensorbus.cat(parts)

    def _move(self, direction: Tensor, length: float) -> None:
        start = 0
        for param in self._params:
            param = tensorbus.view_as_real(param) if param.is_complex() else param
            end = start + param.numel()
            param.add_(direction[start:end].view_as(param), alpha=length)
            start = end
