"""The Python array API standard: its functions by their names and signatures, for our tensors.

Libraries that are written for any array get it from ``Tensor.__array_namespace__``.

>>> import tensorbus
>>> xp = tensorbus.ones(2).__array_namespace__()
>>> xp.sum(xp.asarray([[1, 2], [3, 4]]), axis=1)
tensor([3, 7])

Source: https://data-apis.org/array-api/2025.12/
"""

import tensorbus as _tensorbus
from tensorbus import special  # not of the standard: SciPy looks for such functions here
from tensorbus.array_api import (
    creation,
    data_types,
    elementwise,
    fft,
    info,
    linalg,
    manipulation,
    searching,
    statistics,
)

__array_api_version__ = "2025.12"
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""The versions of the standard that a program may ask for."""

_MAIN = ("matmul", "matrix_transpose", "tensordot", "vecdot")
_dtypes = {name: getattr(_tensorbus, name) for name in info.NAMES if hasattr(_tensorbus, name)}

globals().update(_dtypes)
for _module in (creation, data_types, elementwise, manipulation, searching, statistics):
    globals().update({name: getattr(_module, name) for name in _module.__all__})
globals().update({name: getattr(linalg, name) for name in _MAIN})


def __array_namespace_info__() -> info.Info:
    """What the namespace says of itself: dtypes, devices, capabilities."""
    return info.Info()


__all__ = [
    "__array_api_version__", "__array_namespace_info__", "fft", "linalg", "special", *_dtypes,
    *_MAIN, *creation.__all__, *data_types.__all__, *elementwise.__all__, *manipulation.__all__,
    *searching.__all__, *statistics.__all__,
]  # fmt: skip
