"""Views in place: a tensor that becomes another view of its own storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base.errors import no_tensor
from tensorbus._base.modes import RARE
from tensorbus._tensor.tensor import PERMUTED, Tensor, bump
from tensorbus.autograd.grad_mode import inference_mode
from tensorbus.autograd.node import AccumulateGrad, follow
from tensorbus.op_engine.argument_checks import checked
from tensorbus.op_engine.history import RESHAPED
from tensorbus.op_engine.in_place import check_history, record_as, stopped
from tensorbus.op_engine.names import FUNCTIONS, METHODS
from tensorbus.op_engine.row_handlers import TURN, handled, seen
from tensorbus.ops.views.dimension_order import t, transpose
from tensorbus.ops.views.shape import squeeze, unsqueeze
from tensorbus.ops.views.strided import as_strided


def _become(self: Tensor, view: Tensor) -> Tensor:
    """Give a tensor the shape, the layout and the history of a view of it."""
    if RARE.on and seen(self):
        return handled(TURN, (self, view), lambda row, given: _become(*given))
    own = self._b is None or self._b is PERMUTED
    shared = self._c is not None
    bump(self)
    try:
        self._a, self._s = view._a, view._s
        if type(self._e) is not AccumulateGrad:
            follow(self, view._e)
        if own:
            self._b = None if self._k.is_contiguous(self._a) else PERMUTED
            if shared:
                self._r = RESHAPED
        else:
            self._b, self._r, self._v = view._b, view._r, getattr(view, "_v", 0)
    except BaseException as error:
        stopped(self, error, view._e)
        raise
    return self


_NODES = {
    "as_strided_": "AsStridedBackward1",
    "swapaxes_": "TransposeBackward1",
    "swapdims_": "TransposeBackward1",
    "t_": "TBackward1",
    "transpose_": "TransposeBackward1",
    "unsqueeze_": "UnsqueezeBackward1",
}


def _squeezed(dim: Any = None, *more: Any) -> str:
    """The name of the node of ``squeeze_``: of all dimensions, of one, of some."""
    return f"SqueezeBackward{3 if dim is None else 4 if isinstance(dim, int) and not more else 5}"


def _in_place(view: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    late = checked(view, name, method=True)

    def form(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if not isinstance(self, Tensor):
            raise no_tensor(name, self)
        check_history(self)
        if name == "t_" and len(self._s) > 2:
            raise RuntimeError(
                f"t_() expects a tensor with <= 2 dimensions, but self is {len(self._s)}D"
            )
        with inference_mode(False):  # no element changes, so that the history holds in any mode
            made = late.call(self, *args, **kwargs)
        _become(self, made)
        return record_as(self, _NODES.get(name) or _squeezed(*args, **kwargs))

    form.__name__ = form.__qualname__ = name
    form.__doc__ = f"In-place version of ``{name[:-1]}``: no element moves."
    return form


for _name, _view in {
    "t": t, "transpose": transpose, "swapaxes": transpose, "swapdims": transpose,
    "squeeze": squeeze, "unsqueeze": unsqueeze, "as_strided": as_strided,
}.items():  # fmt: skip
    METHODS[_name + "_"] = _in_place(_view, _name + "_")
FUNCTIONS["as_strided_"] = METHODS["as_strided_"]
