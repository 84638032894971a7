"""Random streams: counter-based, so that a program draws the same numbers on every device.

Philox4x64-10 with key (seed, 0); a draw of n words takes ceil(n / 4) blocks of the counter.
Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Generator as Steps
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.device_types import OF_PYTORCH
from tensorbus._base.leaving import block
from tensorbus._base.modes import this_thread
from tensorbus._base.page import show_pages
from tensorbus._base.public_place import show_in
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._tensor.tensor import from_array

_MASK = 2**64 - 1
_DEFAULT_SEED = 67280421310721


class Generator:
    """A stream of random numbers of its own: ``Generator().manual_seed(0)``.

    *device* says where its numbers are wanted; the stream is the same everywhere.
    """

    def __init__(self, device: Any = "cpu"):
        # "cpu" is taken at its word: the default generator is made at import, where no plugin is
        # looked for yet.
        self._device = device if device == "cpu" else Device(device)
        self._lock = threading.Lock()
        self._seed = _DEFAULT_SEED
        self._offset = 0

    def __reduce__(self) -> Any:
        return _generator, (str(self._device), self._seed, self._offset)

    @property
    def device(self) -> Device:
        """The device that was named."""
        return Device(self._device)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of a seed, an int in [-2**63, 2**64)."""
        if not isinstance(seed, int | np.integer) or isinstance(seed, bool):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = int(seed)  # Python's: NumPy's has no more bits than the mask
        if not -(2**63) <= seed < 2**64:
            raise ValueError(f"Overflow when unpacking long long: seed {seed} is out of range")
        with self._lock:
            self._seed, self._offset = seed & _MASK, 0
        return self

    def seed(self) -> int:
        """Start the stream of a seed from the system's entropy, and return the seed."""
        seed = int.from_bytes(os.urandom(8), "little") >> 1
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed of the stream."""
        return self._seed

    def take(self, words: int) -> tuple[tuple[int, int], int]:
        """(key, offset) for the next *words* words, which are spent."""
        blocks = -(-operator.index(words) // 4)  # Python's: NumPy's would overflow later
        with self._lock:
            offset = self._offset
            self._offset += blocks
        return (self._seed, 0), offset

    def clone_state(self) -> Generator:
        """Another generator that goes on from this one's state."""
        return _generator(str(self._device), self._seed, self._offset)

    def graphsafe_get_state(self) -> Generator:
        """Refused, NotImplementedError, as of PyTorch's on the CPU: no graphs capture draws."""
        raise NotImplementedError(
            "graphsafe_get_state is not supported in this Generator: use get_state or clone_state"
        )

    def graphsafe_set_state(self, new_state: Generator) -> Generator:
        """Refused, NotImplementedError, as of PyTorch's on the CPU: no graphs capture draws."""
        raise NotImplementedError(
            "graphsafe_set_state is not supported in this Generator: use set_state"
        )

    def get_state(self) -> Any:
        """The state, 24 bytes in a uint8 tensor: key and offset."""
        state = np.array([self._seed, 0, self._offset], dtype="<u8")
        k = kind_of(Device("cpu"), dtypes.uint8)
        return from_array(k.from_host(state.view(np.uint8)), k)

    def set_state(self, new_state: Any) -> None:
        """Go on from a state that ``get_state`` gave."""
        from tensorbus._tensor.tensor import Tensor

        if not isinstance(new_state, Tensor):
            found = type(new_state).__name__
            raise TypeError(f"set_state(): argument 'new_state' must be a ByteTensor, not {found}")
        host = new_state.detach().cpu().numpy()
        if host.dtype != np.uint8:
            raise TypeError(f"RNG state must be a torch.ByteTensor, not a tensor of {host.dtype}")
        if host.size != 24:
            raise RuntimeError(
                f"RNG state is wrong size: a uint8 tensor of 24 bytes is wanted, not of {host.size}"
            )
        seed, middle, offset = (int(n) for n in np.ascontiguousarray(host).view("<u8"))
        if middle or offset >= 2**63:
            raise RuntimeError("Invalid RNG state: get_state() of no generator gave these bytes")
        with self._lock:
            self._seed, self._offset = seed, offset


def _generator(device: str, seed: int, offset: int) -> Generator:
    """A generator in a state: what pickles and copies of one are made by."""
    made = Generator(device)
    made._seed, made._offset = seed, offset
    return made


show_in("tensorbus", [("Generator", Generator)])

default_generator = Generator()


def taken(kind: Kind, generator: Generator | None, words: int) -> tuple[tuple[int, int], int]:
    """(key, offset) for the next *words* words that a draw on a device takes from a stream.

    Where nothing has values nothing is drawn: what follows finds the stream as it was.
    """
    if not kind.has_values:
        return (0, 0), 0
    source = generator or default_generator
    if this_thread.randomness:
        from tensorbus._dispatch.batch_rules import taken_in_batch  # here: most are in none

        return taken_in_batch(kind, source.take, words)
    return source.take(words)


def manual_seed(seed: int) -> Generator:
    """Seed every device with ``int(seed)``; returns the generator.

    ValueError for what lies outside of [-2**63, 2**64).

    >>> import tensorbus
    >>> _ = tensorbus.manual_seed(0)
    >>> a = tensorbus.rand(2)
    >>> _ = tensorbus.manual_seed(0)
    >>> bool((a == tensorbus.rand(2)).all())
    True
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seed every device from the system's entropy, and return the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The default generator's state, a uint8 tensor of 24 bytes."""
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Go on from a state that ``get_rng_state`` gave."""
    default_generator.set_state(new_state)


def thread_safe_generator() -> Generator | None:
    """The generator of the loader's thread that this is called in: always None.

    Workers of a ``DataLoader`` are processes here, each with a default generator of its own;
    functions take that where they are given None.
    """
    return None


@block
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    device_type: str | None = None,
) -> Steps[None, None, None]:
    """A context, or a decorator, at whose end the stream is where it was at its beginning.

    All devices share one stream, so it is kept whatever *devices* and *device_type* name; a device
    that does not exist raises RuntimeError. With *enabled* False nothing is kept.
    """
    if device_type is not None and device_type not in OF_PYTORCH:
        Device(device_type)
    for named in devices or ():
        if isinstance(named, str):
            Device(named)
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        try:
            set_rng_state(state)
        except BaseException:
            set_rng_state(state)
            raise


show_pages(
    __name__,
    [("fork_rng", fork_rng), ("thread_safe_generator", thread_safe_generator)],
)

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
