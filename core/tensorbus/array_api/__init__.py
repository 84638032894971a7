"""The Python array API standard: its functions by their names and signatures, for our tensors.

Libraries that are written for any array get it from ``Tensor.__array_namespace__``.

>>> import tensorbus
>>> xp = tensorbus.ones(2).__array_namespace__()
>>> xp.sum(xp.asarray([[1, 2], [3, 4]]), axis=1)
tensor([3, 7])

Source: https://data-apis.org/array-api/2025.12/
"""

import tensorbus as _tensorbus
from tensorbus import bool as bool
from tensorbus import complex64, complex128, float32, float64, int8, int16, int32, int64, uint8
from tensorbus import special as special  # not of the standard: SciPy looks for such functions here
from tensorbus.array_api import creation as _creation
from tensorbus.array_api import data_types as _data_types
from tensorbus.array_api import elementwise as _elementwise
from tensorbus.array_api import fft, linalg
from tensorbus.array_api import manipulation as _manipulation
from tensorbus.array_api import searching as _searching
from tensorbus.array_api import statistics as _statistics
from tensorbus.array_api.creation import *  # noqa: F403
from tensorbus.array_api.data_types import *  # noqa: F403
from tensorbus.array_api.elementwise import *  # noqa: F403
from tensorbus.array_api.info import Info as _Info
from tensorbus.array_api.linalg import matmul, matrix_transpose, tensordot, vecdot
from tensorbus.array_api.manipulation import *  # noqa: F403
from tensorbus.array_api.searching import *  # noqa: F403
from tensorbus.array_api.statistics import *  # noqa: F403

__array_api_version__ = "2025.12"
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""The versions of the standard that a program may ask for."""

_wide = [name for name in ("uint16", "uint32", "uint64") if hasattr(_tensorbus, name)]
globals().update({name: getattr(_tensorbus, name) for name in _wide})


def __array_namespace_info__() -> _Info:
    """What the namespace says of itself: dtypes, devices, capabilities."""
    return _Info()


__all__ = [
    "__array_api_version__", "__array_namespace_info__", "bool", "complex64", "complex128", "fft",
    "float32", "float64", "int8", "int16", "int32", "int64", "linalg", "matmul",
    "matrix_transpose", "special", "tensordot", "uint8", "vecdot",
]  # fmt: skip
__all__ += [
    *_wide, *_creation.__all__, *_data_types.__all__, *_elementwise.__all__,
    *_manipulation.__all__, *_searching.__all__, *_statistics.__all__,
]  # fmt: skip
