"""Stores: keys that the processes of a job share, to find each other."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from datetime import timedelta

from tensorbus.distributed.durations import Duration, seconds
from tensorbus.distributed.errors import DistStoreError

Value = str | bytes

STORE_TIMEOUT = 300.0
"""How long ``get`` and ``wait`` wait by default, as in PyTorch."""


def as_bytes(value: Value) -> bytes:
    """A value as it is kept."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"a store keeps str and bytes, not {type(value).__name__}")


class Store:
    """Keys and values that several processes share. ``get`` and ``wait`` wait for keys.

    >>> from tensorbus.distributed import HashStore
    >>> store = HashStore()
    >>> store.set("name", "value")
    >>> store.get("name"), store.add("count", 2), store.add("count", 3)
    (b'value', 2, 5)
    """

    def __init__(self, timeout: Duration = None):
        self._timeout = seconds(timeout, STORE_TIMEOUT)

    @property
    def timeout(self) -> timedelta:
        """How long ``get`` and ``wait`` wait."""
        return timedelta(seconds=self._timeout)

    def set_timeout(self, timeout: Duration) -> None:
        """Change how long ``get`` and ``wait`` wait."""
        self._timeout = seconds(timeout, STORE_TIMEOUT)

    def set(self, key: str, value: Value) -> None:
        """Write a key."""
        raise NotImplementedError

    def get(self, key: str) -> bytes:
        """The value of a key, waited for; ``DistStoreError`` where nobody sets it in time."""
        self.wait([key])
        return self._read(key)

    def add(self, key: str, amount: int) -> int:
        """Add to the number under a key (0 where it is not set) and return the sum."""
        raise NotImplementedError

    def append(self, key: str, value: Value) -> None:
        """Write a value behind the one that is there."""
        raise NotImplementedError

    def compare_set(self, key: str, expected_value: Value, desired_value: Value) -> bytes:
        """Write where the key has the expected value (empty: is not set); the value after it."""
        raise NotImplementedError

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are set."""
        raise NotImplementedError

    def wait(self, keys: list[str], timeout: Duration = None) -> None:
        """Wait until all keys are set; ``DistStoreError`` naming the missing ones otherwise."""
        allowed = seconds(timeout, self._timeout)
        if not self._wait(keys, allowed):
            missing = [k for k in keys if not self.check([k])]
            raise DistStoreError(
                f"wait timeout after {allowed * 1000:.0f}ms, keys: {', '.join(missing or keys)}"
            )

    def delete_key(self, key: str) -> bool:
        """Forget a key; whether it was there."""
        raise NotImplementedError

    def num_keys(self) -> int:
        """How many keys are set."""
        raise NotImplementedError

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """The values of several keys, waited for."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: list[str], values: Sequence[Value]) -> None:
        """Write several keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Whether ``append``, ``multi_get`` and ``multi_set`` exist: yes."""
        return True

    def clone(self) -> Store:
        """The same keys for another thread, whose waiting does not hold this one up."""
        return self

    def close(self, remove: bool = False) -> None:
        """Free what the store holds; *remove* deletes a file in any case."""

    def publish(self, channel: str, value: Value) -> int:
        """Write a value under the channel's next number, ``channel/1`` first; the number."""
        number = self.add(channel, 1)
        self.set(f"{channel}/{number}", value)
        return number

    def last_will(self, channel: str, value: Value) -> bool:
        """Publish a value when this object's connection breaks; whether the store can do that.

        An empty value takes the will back.
        """
        return False

    # -- for stores with a connection --------------------------------------------------------
    @property
    def address(self) -> str:
        """Where other hosts reach this process."""
        return "127.0.0.1"

    @property
    def is_server(self) -> bool:
        """Whether the keys are gone for the others when this object's process ends."""
        return False

    @property
    def connected(self) -> bool:
        """Whether this object has a connection of its own, which ``close`` ends."""
        return False

    def wait_long(self) -> float:
        """Let waits last as long as the connection holds; how long one wait may be, in seconds."""
        return 1.0

    def set_patience(self, seconds: float) -> None:
        """How long to wait for an answer of the server."""

    # -- what a store brings -----------------------------------------------------------------
    def _read(self, key: str) -> bytes:
        raise NotImplementedError

    def _wait(self, keys: list[str], timeout: float) -> bool:
        raise NotImplementedError


class HashStore(Store):
    """A store within one process, for its threads."""

    def __init__(self, timeout: Duration = None) -> None:
        super().__init__(timeout)
        self._values: dict[str, bytes] = {}
        self._changed = threading.Condition()
        self._closed = False

    def set(self, key: str, value: Value) -> None:
        data = as_bytes(value)
        with self._changed:
            self._values[key] = data
            self._changed.notify_all()

    def add(self, key: str, amount: int) -> int:
        with self._changed:
            try:
                total = int(self._values.get(key, b"0")) + amount
            except ValueError as e:
                raise ValueError(f"the key {key!r} holds no number, so nothing can be added") from e
            self._values[key] = b"%d" % total
            self._changed.notify_all()
            return total

    def append(self, key: str, value: Value) -> None:
        data = as_bytes(value)
        with self._changed:
            self._values[key] = self._values.get(key, b"") + data
            self._changed.notify_all()

    def compare_set(self, key: str, expected_value: Value, desired_value: Value) -> bytes:
        expected, desired = as_bytes(expected_value), as_bytes(desired_value)
        with self._changed:
            found = self._values.get(key)
            if found == expected or (found is None and not expected):
                self._values[key] = found = desired
                self._changed.notify_all()
            return expected if found is None else found

    def check(self, keys: list[str]) -> bool:
        with self._changed:
            return all(key in self._values for key in keys)

    def delete_key(self, key: str) -> bool:
        with self._changed:
            self._changed.notify_all()
            return self._values.pop(key, None) is not None

    def num_keys(self) -> int:
        with self._changed:
            return len(self._values)

    def close(self, remove: bool = False) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _read(self, key: str) -> bytes:
        with self._changed:
            try:
                return self._values[key]
            except KeyError:
                raise DistStoreError(f"the key {key!r} was deleted meanwhile") from None

    def _wait(self, keys: list[str], timeout: float) -> bool:
        end = time.monotonic() + timeout
        with self._changed:
            while not all(key in self._values for key in keys):
                left = end - time.monotonic()
                if left <= 0 or self._closed:
                    return False
                self._changed.wait(left)
            return True


class PrefixStore(Store):
    """Another store's keys that begin with a prefix, without it."""

    def __init__(self, prefix: str, store: Store):
        super().__init__(store.timeout)
        self._prefix, self._store = prefix, store

    @property
    def underlying_store(self) -> Store:
        """The store whose keys these are."""
        return self._store

    def _key(self, key: str) -> str:
        return f"{self._prefix}/{key}"

    def _keys(self, keys: list[str]) -> list[str]:
        return [self._key(key) for key in keys]

    def set(self, key: str, value: Value) -> None:
        self._store.set(self._key(key), value)

    def add(self, key: str, amount: int) -> int:
        return self._store.add(self._key(key), amount)

    def append(self, key: str, value: Value) -> None:
        self._store.append(self._key(key), value)

    def compare_set(self, key: str, expected_value: Value, desired_value: Value) -> bytes:
        return self._store.compare_set(self._key(key), expected_value, desired_value)

    def check(self, keys: list[str]) -> bool:
        return self._store.check(self._keys(keys))

    def delete_key(self, key: str) -> bool:
        return self._store.delete_key(self._key(key))

    def num_keys(self) -> int:
        return self._store.num_keys()

    def publish(self, channel: str, value: Value) -> int:
        return self._store.publish(self._key(channel), value)

    def last_will(self, channel: str, value: Value) -> bool:
        return self._store.last_will(self._key(channel), value)

    def clone(self) -> PrefixStore:
        return PrefixStore(self._prefix, self._store.clone())

    def close(self, remove: bool = False) -> None:
        self._store.close(remove)

    @property
    def address(self) -> str:
        return self._store.address

    @property
    def connected(self) -> bool:
        return self._store.connected

    @property
    def is_server(self) -> bool:
        return self._store.is_server

    def wait_long(self) -> float:
        return self._store.wait_long()

    def set_patience(self, seconds: float) -> None:
        self._store.set_patience(seconds)

    def _read(self, key: str) -> bytes:
        return self._store._read(self._key(key))

    def _wait(self, keys: list[str], timeout: float) -> bool:
        return self._store._wait(self._keys(keys), timeout)
