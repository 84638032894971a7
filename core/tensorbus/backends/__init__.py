"""``torch.backends``: flags of libraries that PyTorch may use, as programs ask for and set them.

None of these libraries computes for tensorbus, and ``is_available`` says so. A flag that is set
is kept and changes no result.

>>> import tensorbus
>>> tensorbus.backends.cudnn.benchmark = True
>>> tensorbus.backends.cudnn.benchmark, tensorbus.backends.cudnn.is_available()
(True, False)
>>> tensorbus.backends.cudnn.benchmark = False
"""

from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus.backends import _flags

fp32_precision: str


class _Backends(_ModuleType):
    fp32_precision = _flags.Precision("ieee", "tf32", "bf16")


_flags.install(__name__, _Backends)

if TYPE_CHECKING:
    from tensorbus.backends import cpu as cpu
    from tensorbus.backends import cuda as cuda
    from tensorbus.backends import cudnn as cudnn
    from tensorbus.backends import cusparselt as cusparselt
    from tensorbus.backends import mkl as mkl
    from tensorbus.backends import mkldnn as mkldnn
    from tensorbus.backends import mps as mps
    from tensorbus.backends import openmp as openmp
else:
    __getattr__ = _attributes(__name__)

_NAMES = "cpu cuda cudnn cusparselt mkl mkldnn mps openmp"


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES.split()})
