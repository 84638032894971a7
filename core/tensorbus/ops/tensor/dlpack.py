"""DLPack: arrays of other libraries as tensors and tensors as theirs, over the same memory."""

from __future__ import annotations

from typing import Any

from tensorbus import discovery
from tensorbus._base import dlpack as capsules
from tensorbus._base.errors import type_error
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._tensor.tensor import PERMUTED, Tensor, from_array
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.options import checked_device
from tensorbus.op_engine.public import public
from tensorbus.ops.tensor.copies import detach


# -- out -------------------------------------------------------------------------------------
def _pair_of(k: Kind) -> tuple[int, int] | None:
    """DLPack's type and number of a kind's device, if it takes part in the exchange."""
    own = discovery.offered(k.backend, "dlpack_device") if k.has_values else None
    return None if own is None else own(k.index)


def _no_exchange(k: Kind) -> BufferError:
    return BufferError(
        f"the device {k.device} shares no memory with other libraries through DLPack"
        + ("; copy the tensor to the host first, with .cpu()" if k.has_values else "")
    )


def _dlpack_device(self: Tensor) -> tuple[int, int]:
    """DLPack's type and number of the tensor's device; BufferError where it has none."""
    pair = _pair_of(self._k)
    if pair is None:
        raise _no_exchange(self._k)
    return pair


def _dlpack(
    self: Tensor,
    *,
    stream: Any = -1,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule over the tensor's memory, for the ``from_dlpack`` of another library.

    *max_version* of (1, 0) or later gives the versioned capsule, which can say that memory is
    read-only. *dl_device* asks for a copy on another device, (1, 0) for the host; *copy* True
    always copies, False never does. BufferError where the memory can't be handed out.
    """
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if dl_device is not None and not isinstance(dl_device, tuple):
        raise type_error("__dlpack__", "dl_device", None, "tuple of ints", dl_device)
    x = self
    if dl_device is not None and tuple(dl_device) != _pair_of(x._k):
        kind, number = dl_device
        where = _device_of((int(kind), int(number)))
        if where is None or copy is False:
            raise BufferError(
                f"the memory of a tensor on {x._k.device} can't be handed out as that of DLPack's "
                f"device {tuple(dl_device)}"
                + ("" if where is None else " without a copy, which copy=False forbids")
            )
        x, copy = to_kind(x, kind_of(where, x._k.dtype)), False
    k = x._k
    pair = _pair_of(k)
    export = discovery.offered(k.backend, "to_dlpack")
    if pair is None or export is None:
        raise _no_exchange(k)
    if pair[0] == capsules.CPU and stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    return export(x._a, k.dtype, stream, max_version, copy)


METHODS["__dlpack_device__"] = _dlpack_device
METHODS["__dlpack__"] = _dlpack


@public(method=False)
def to_dlpack(tensor: Tensor) -> Any:
    """An unversioned DLPack capsule over a tensor's memory, to be consumed once.

    New programs hand the tensor itself to the other library's ``from_dlpack``.

    >>> import tensorbus
    >>> x = tensorbus.zeros(2)
    >>> y = tensorbus.from_dlpack(tensorbus.to_dlpack(x))
    >>> y[0] = 1
    >>> x
    tensor([1., 0.])
    """
    return _dlpack(detach(tensor) if tensor.requires_grad else tensor)


# -- in --------------------------------------------------------------------------------------
def _device_of(pair: tuple[int, int]) -> Device | None:
    """The device here that is DLPack's *pair*, if one is."""
    if pair[0] in capsules.HOST_TYPES:
        return Device("cpu")
    for name in discovery.backend_names():
        try:
            backend = discovery.backend(name)
        except RuntimeError:
            continue  # it can't be used here: another may have that device
        own = discovery.offered(backend, "dlpack_device")
        if own is not None and pair[1] < backend.device_count() and own(pair[1]) == pair:
            return Device(name, pair[1])
    return None


class _OnHost:
    """An exporter that is asked for a copy in host memory."""

    def __init__(self, exporter: Any):
        self.exporter = exporter

    def __dlpack__(self, **options: Any) -> Any:
        return self.exporter.__dlpack__(**{**options, "dl_device": (capsules.CPU, 0)})


@public(method=False)
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array, or of a DLPack capsule.

    The array is anything with ``__dlpack__`` and ``__dlpack_device__``, as NumPy's. Changes to one
    show in the other, unless *copy* is True or another *device* is asked for; *copy* False makes a
    copy an error. Writes to memory that is read-only are refused.
    BufferError for memory that no tensor can have (negative strides, an unknown dtype or device),
    RuntimeError for anything else than such arrays and capsules that were not used before.

    >>> import numpy, tensorbus
    >>> a = numpy.zeros(3)
    >>> tensorbus.from_dlpack(a).add_(1)
    tensor([1., 1., 1.], dtype=torch.float64)
    >>> a
    array([1., 1., 1.])
    """
    wanted = checked_device("from_dlpack", device)
    if isinstance(ext_tensor, Tensor):
        if ext_tensor.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        made = detach(ext_tensor)
    elif hasattr(ext_tensor, "__dlpack__"):
        made = _import(ext_tensor, _pair_of_exporter(ext_tensor), wanted, copy)
    else:
        if wanted is not None or copy is not None:
            raise AssertionError(
                "device and copy kwargs not supported when ext_tensor is already a DLPack capsule."
            )
        pair = capsules.describe(ext_tensor).device
        return _import(ext_tensor, pair, None, None)
    k = made._k if wanted is None else kind_of(wanted, made._k.dtype)
    if k is made._k:
        return core("clone")(made) if copy else made
    if copy is False:
        raise BufferError(
            f"from_dlpack(): an array on {made._k.device} comes to {k.device} only as a copy, "
            "which copy=False forbids"
        )
    return to_kind(made, k)


def _pair_of_exporter(exporter: Any) -> tuple[int, int]:
    kind, number = exporter.__dlpack_device__()
    return int(kind), int(number)


def _import(
    exporter: Any, pair: tuple[int, int], wanted: Device | None, copy: bool | None
) -> Tensor:
    where = _device_of(pair)
    if where is None and wanted is not None and copy is not False:
        exporter, pair, where = _OnHost(exporter), (capsules.CPU, 0), Device("cpu")
    if where is None:
        raise BufferError(
            f"from_dlpack(): the array is on DLPack's device {pair} (type, number), which no "
            "device of tensorbus here is: copy it to the host first, or name a device to copy it "
            "to, as device='cpu'"
        )
    take = discovery.offered(discovery.backend(where.type), "from_dlpack")

    def check(found: capsules.Described) -> None:
        if found.device != pair:
            raise BufferError(
                f"from_dlpack(): the array was said to be on DLPack's device {pair}, but its "
                f"capsule is of {found.device}"
            )
        try:
            kind_of(where, found.dtype)
        except TypeError as error:
            raise BufferError(f"from_dlpack(): {error}") from None

    source = capsules.Exporter(exporter, pair, check)
    found = None if take is None else take(source, where.index or 0, None if copy else copy)
    if found is None:
        raise BufferError(f"from_dlpack(): the device {where} takes no memory of other libraries")
    t = from_array(found.array, kind_of(where, found.dtype))
    # Its memory is shared with others, so it counts as what may overlap.
    t._b = PERMUTED
    return t
