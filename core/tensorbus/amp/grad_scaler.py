"""``GradScaler``: losses are scaled up, so that gradients of 16 bits do not vanish."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

import tensorbus
from tensorbus import accelerator
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor


class OptState(enum.Enum):
    """What was done with the gradients of an optimiser since the last update."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class _Optimizer:
    """What a scaler remembers of an optimiser until the next update."""

    __slots__ = ("found", "stage")

    def __init__(self) -> None:
        self.stage = OptState.READY
        self.found: dict[Any, Tensor] = {}
        """For each device whether a gradient was not finite, as a number."""


class GradScaler:
    """Scales losses, and the gradients back before a step, which is left out where they overflow.

    The scale begins with *init_scale*. A step whose gradients are not finite is left out, and the
    scale becomes *backoff_factor* times as large; after *growth_interval* steps in a row that were
    made it becomes *growth_factor* times as large. With ``enabled=False``, and with a warning
    where no *device* of that type is here, nothing is scaled and each step is made.

    >>> import tensorbus as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.5)
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    >>> scaler.scale((w * w).sum()).backward()
    >>> w.grad
    tensor([8., 8.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w
    tensor([0., 0.], requires_grad=True)

    Source: https://pytorch.org/docs/stable/amp.html#gradient-scaling
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ):
        self._device = device
        self._enabled = enabled
        if enabled and not accelerator.is_available(device):
            warn_user(
                f"torch.{device}.amp.GradScaler is enabled, but {device.upper()} is not available. "
                " Disabling."
            )
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Tensor | None = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Tensor | None = None
        self._optimizers: dict[int, _Optimizer] = {}

    # -- scaling -----------------------------------------------------------------------------
    def _begin(self, device: Any) -> Tensor:
        """The scale as a tensor, made with the first loss."""
        if self._scale is None:
            self._scale = tensorbus.full((), self._init_scale, device=device)
            self._growth_tracker = tensorbus.full(
                (), self._init_growth_tracker, dtype=tensorbus.int32, device=device
            )
        return self._scale

    def scale(self, outputs: Any) -> Any:
        """A tensor times the scale; of an iterable, as nested as that is, all its tensors."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._begin(outputs.device).to(outputs.device)
        if isinstance(outputs, Iterable):
            scaled = [self.scale(each) for each in outputs]
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else iter(scaled)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimiser's parameters by the scale, before they are clipped.

        RuntimeError where that was done since the last ``update``, or the step was made;
        ValueError for gradients in float16.
        """
        if not self._enabled:
            return
        known = self._of(optimizer)
        if known.stage is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if known.stage is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        known.found = self._unscale(optimizer, self._known("unscale_"))
        known.stage = OptState.UNSCALED

    def _unscale(self, optimizer: Any, scale: Tensor) -> dict[Any, Tensor]:
        inverse = scale.double().reciprocal().float() if _has_double(scale) else scale.reciprocal()
        found: dict[Any, Tensor] = {}
        factors: dict[Any, Tensor] = {}
        with tensorbus.no_grad():
            for group in optimizer.param_groups:
                for p in group["params"]:
                    g = p.grad
                    if g is None:
                        continue
                    if g.dtype is tensorbus.float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    device = g.device
                    if device not in found:
                        found[device] = tensorbus.zeros((), device=device)
                        factors[device] = inverse.to(device)
                    values = g._values() if g.is_sparse else g
                    bad = tensorbus.isfinite(values).all().logical_not().float()
                    found[device] = tensorbus.maximum(found[device], bad)
                    g.mul_(factors[device])
        return found

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(*args, **kwargs)`` with unscaled gradients, where all are finite.

        RuntimeError for a *closure*, and where the step was made since the last ``update``.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        known = self._of(optimizer)
        if known.stage is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        self._known("step")
        if known.stage is OptState.READY:
            self.unscale_(optimizer)
        if not known.found:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        finite = not any(found.item() for found in known.found.values())
        result = optimizer.step(*args, **kwargs) if finite else None
        known.stage = OptState.STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Make the scale smaller or larger, as the steps since the last call went.

        With *new_scale* it becomes that. AssertionError where no step looked at gradients.
        """
        if not self._enabled:
            return
        scale, tracker = self._known("update"), self._growth_tracker
        assert tracker is not None
        with tensorbus.no_grad():
            if new_scale is not None:
                self._set(scale, new_scale)
            else:
                found = [
                    each.to(scale.device)
                    for known in self._optimizers.values()
                    for each in known.found.values()
                ]
                if not found:
                    raise AssertionError("No inf checks were recorded prior to update.")
                self._follow(scale, tracker, sum(found[1:], found[0]) > 0)
        self._optimizers.clear()

    def _set(self, scale: Tensor, new: Any) -> None:
        if isinstance(new, float):
            scale.fill_(new)
            return
        reason = (
            "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
            "torch.FloatTensor with requires_grad=False."
        )
        if not isinstance(new, Tensor) or new.numel() != 1 or new.requires_grad:
            raise AssertionError(reason)
        scale.copy_(new.reshape(()))

    def _follow(self, scale: Tensor, tracker: Tensor, overflow: Tensor) -> None:
        """The new scale and count of good steps, by ops of the device: nothing waits for them."""
        counted = tracker + 1
        full = counted == self._growth_interval
        grown = scale * self._growth_factor
        grown = tensorbus.where(full & tensorbus.isfinite(grown), grown, scale)
        scale.copy_(tensorbus.where(overflow, scale * self._backoff_factor, grown))
        tracker.copy_(tensorbus.where(overflow | full, tensorbus.zeros_like(tracker), counted))

    def _of(self, optimizer: Any) -> _Optimizer:
        return self._optimizers.setdefault(id(optimizer), _Optimizer())

    def _known(self, name: str) -> Tensor:
        if self._scale is None:
            raise AssertionError(
                f"Attempted {name} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )
        return self._scale

    # -- asking and setting ------------------------------------------------------------------
    def is_enabled(self) -> bool:
        """Whether anything is scaled."""
        return self._enabled

    def get_scale(self) -> float:
        """The scale; 1.0 where nothing is scaled. It waits for the device."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """What the scale is multiplied with when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set it."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied with after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set it."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many good steps in a row let the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set it."""
        self._growth_interval = new_interval

    # -- keeping -----------------------------------------------------------------------------
    def _tracked(self) -> int:
        if self._growth_tracker is None:
            return self._init_growth_tracker
        return int(self._growth_tracker.item())

    def state_dict(self) -> dict[str, Any]:
        """What ``load_state_dict`` of another scaler takes; empty where nothing is scaled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._tracked(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on as the scaler that gave *state_dict*; RuntimeError for an empty one."""
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None and self._growth_tracker is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._optimizers:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, "
                    "or at the end after scaler.update()."
                )
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._tracked()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _has_double(t: Tensor) -> bool:
    """Whether the device of a tensor has float64."""
    k = t._k
    return tensorbus.float64 in k.backend.capabilities(k.index).dtypes
