"""Discrete Fourier transforms, and the frequencies of their elements.

>>> import tensorbus
>>> tensorbus.fft.rfft(tensorbus.tensor([1.0, 2.0, 3.0, 2.0]))
tensor([ 8.+0.j, -2.+0.j,  0.+0.j])
"""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.public_place import show_in as _show_in
from tensorbus.op_engine.argument_checks import checked as _checked
from tensorbus.op_engine.out import CAST as _CAST
from tensorbus.op_engine.override import overridable as _overridable
from tensorbus.op_engine.public import with_out as _with_out
from tensorbus.ops.fft import frequencies as _frequencies
from tensorbus.ops.fft import functions as _functions

fft = _with_out(_functions.fft_fft, "fft_fft", _CAST)
fft2 = _with_out(_functions.fft_fft2, "fft_fft2", _CAST)
fftfreq = _frequencies.fftfreq
fftn = _with_out(_functions.fft_fftn, "fft_fftn", _CAST)
fftshift = _overridable(
    _frequencies.fft_fftshift, _checked(_frequencies.fft_fftshift, "fft_fftshift")
)
hfft = _with_out(_functions.fft_hfft, "fft_hfft", _CAST)
hfft2 = _with_out(_functions.fft_hfft2, "fft_hfft2", _CAST)
hfftn = _with_out(_functions.fft_hfftn, "fft_hfftn", _CAST)
ifft = _with_out(_functions.fft_ifft, "fft_ifft", _CAST)
ifft2 = _with_out(_functions.fft_ifft2, "fft_ifft2", _CAST)
ifftn = _with_out(_functions.fft_ifftn, "fft_ifftn", _CAST)
ifftshift = _overridable(
    _frequencies.fft_ifftshift, _checked(_frequencies.fft_ifftshift, "fft_ifftshift")
)
ihfft = _with_out(_functions.fft_ihfft, "fft_ihfft", _CAST)
ihfft2 = _with_out(_functions.fft_ihfft2, "fft_ihfft2", _CAST)
ihfftn = _with_out(_functions.fft_ihfftn, "fft_ihfftn", _CAST)
irfft = _with_out(_functions.fft_irfft, "fft_irfft", _CAST)
irfft2 = _with_out(_functions.fft_irfft2, "fft_irfft2", _CAST)
irfftn = _with_out(_functions.fft_irfftn, "fft_irfftn", _CAST)
rfft = _with_out(_functions.fft_rfft, "fft_rfft", _CAST)
rfft2 = _with_out(_functions.fft_rfft2, "fft_rfft2", _CAST)
rfftfreq = _frequencies.rfftfreq
rfftn = _with_out(_functions.fft_rfftn, "fft_rfftn", _CAST)

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2",
    "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft",
    "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

_show_in(__name__, [(name, globals()[name]) for name in __all__])
