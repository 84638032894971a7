"""``x.add_(y)`` and its like: straight into the memory where nothing records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus import discovery
from tensorbus._base.errors import no_tensor
from tensorbus._base.modes import RARE
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import GRAD, THREAD
from tensorbus.op_engine.asking_in_place import asked_in_place
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.in_place import in_place
from tensorbus.op_engine.operands import NONE, check_operands, is_foreign
from tensorbus.op_engine.parameter import Parameter


def fast_binary(name: str, numbers: str = "") -> Callable[..., Any]:
    """``NAME_`` of a pointwise op: straight into the tensor's array where nothing records.

    *numbers* says of a method which operands may be numbers; an operator, without it, declines
    what it doesn't know.
    """
    function = core(name)
    takes_numbers = numbers != NONE

    def slowly(self: Tensor, other: Any) -> Any:
        if (answer := asked_in_place(name + "_", (self, other))) is not NotImplemented:
            return answer
        if numbers:
            check_operands(name + "_", name, self, other, method=True)
        elif not isinstance(other, Tensor) and is_foreign(other):
            return NotImplemented
        return in_place(self, function, (other,))

    def form(self: Tensor, other: Any) -> Any:
        try:
            k = self._k
        except AttributeError:
            raise no_tensor(name + "_", self) from None
        c = self._c
        if RARE.on or (c is not None and type(c) is not list):
            return slowly(self, other)
        if self._b is None and (self._e is None or not (GRAD.on or THREAD.on)):
            t = type(other)
            if t is Tensor or t is Parameter:
                if (
                    other._k is k
                    and other._b is None
                    and (other._e is None or not (GRAD.on or THREAD.on))
                    and (other._s is self._s or _fits(other._s, self._s))
                ):
                    value = other._a
                else:
                    return slowly(self, other)
            elif takes_numbers and t in k.number_types:
                value = k.consts.get(other)
                if value is None:
                    value = k.const(other)
            else:
                return slowly(self, other)
            # Counted first, so that no interrupt comes between a write and its count.
            if c is None:
                self._c = [1]
            else:
                c[0] += 1
            try:
                getattr(k, name)(self._a, value, out=self._a)
            except RuntimeWarning:
                # A warning turned error: a ufunc has written its values all the same, but of a
                # plugin's own function nobody knows.
                if not isinstance(getattr(k, name), np.ufunc):
                    raise
            except OSError as error:  # of the handler of a signal, maybe after the write
                discovery.note_origin(error, name, self.device)
                raise
            except Exception:
                if c is None:
                    self._c = None
                else:
                    c[0] -= 1
                return slowly(self, other)
            return self
        return slowly(self, other)

    form.__name__ = form.__qualname__ = name + "_"
    form.__doc__ = f"In-place version of ``{name}``."
    return form


def _fits(shape: Any, into: Any) -> bool:
    """Whether *shape* broadcasts to *into* without growing it."""
    if len(shape) > len(into):
        return False
    return all(n in (1, m) for n, m in zip(reversed(shape), reversed(into), strict=False))
