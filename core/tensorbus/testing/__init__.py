"""For tests of programs: closeness with a readable error, and tensors of random values.

>>> import tensorbus
>>> x = tensorbus.testing.make_tensor(2, 3, dtype=tensorbus.float32, device="cpu")
>>> tensorbus.testing.assert_close(x + x, 2 * x)
"""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.public_place import show_in as _show_in
from tensorbus.testing.comparison import assert_allclose, assert_close
from tensorbus.testing.random_tensors import make_tensor

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

_show_in(__name__, [(name, globals()[name]) for name in __all__])
