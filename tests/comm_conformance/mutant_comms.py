"""Comms that are wrong in one way each; the processes of ranks import this module."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import deque

import numpy as np

from tensorbus import discovery
from tensorbus.plugin import HOST, CommError, CommTimeout, bfloat16, float32, float64, reduce_into
from tensorbus.plugin.calls import Call
from tensorbus_comm_local.comm import DTYPES, LocalComm
from tensorbus_comm_tcp.comm import TcpComm


class Healthy(LocalComm):
    """Nothing is wrong with it."""


class OnADevice(LocalComm):
    """It takes the arrays of the device "strict" and no host memory."""

    def capabilities(self):
        has = discovery.backend("strict").capabilities(0).dtypes
        return {"strict": frozenset(has) & DTYPES}

    def _through(self, call, arrays, dtype, *rest):
        device = discovery.backend("strict")
        hosts = [device.to_host(a, dtype).reshape(-1).copy() for a in arrays]
        result = call(*hosts, dtype, *rest)
        for array, host in zip(arrays, hosts, strict=True):
            device.copy_(array, dtype, device.from_host(host, dtype, 0), dtype)
        return result

    def send(self, array, dtype, *rest):
        self._through(super().send, [array], dtype, *rest)

    def recv(self, array, dtype, *rest):
        return self._through(super().recv, [array], dtype, *rest)

    def broadcast(self, array, dtype, *rest):
        self._through(super().broadcast, [array], dtype, *rest)

    def all_reduce(self, array, dtype, *rest):
        self._through(super().all_reduce, [array], dtype, *rest)

    def all_gather(self, out, array, dtype, *rest):
        self._through(super().all_gather, [out, array], dtype, *rest)

    def reduce_scatter(self, out, array, dtype, *rest):
        self._through(super().reduce_scatter, [out, array], dtype, *rest)


class OnlyFloat32(LocalComm):
    def capabilities(self):
        return {HOST: frozenset({float32})}


class MovesNothing(LocalComm):
    def send(self, array, dtype, dst, tag, timeout):
        pass

    def recv(self, array, dtype, src, tag, timeout):
        return 0 if src is None else src

    def broadcast(self, array, dtype, src, timeout):
        pass

    def all_reduce(self, array, dtype, op, timeout):
        pass

    def all_gather(self, out, array, dtype, timeout):
        pass

    def reduce_scatter(self, out, array, dtype, op, timeout):
        pass

    def barrier(self, timeout):
        pass


class Truncates(LocalComm):
    """Of a long message the end does not arrive."""

    def recv(self, array, dtype, src, tag, timeout):
        whole = np.empty_like(array)
        sender = super().recv(whole, dtype, src, tag, timeout)
        array[:1000] = whole[:1000]
        return sender


class MixesRanks(LocalComm):
    def all_gather(self, out, array, dtype, timeout):
        super().all_gather(out, array, dtype, timeout)
        out[...] = np.roll(out, array.size)


class DropsTheLastChunk(LocalComm):
    CHUNK = 1 << 16

    def all_reduce(self, array, dtype, op, timeout):
        last = array[array.size // self.CHUNK * self.CHUNK :] if array.size > self.CHUNK else None
        before = None if last is None else last.copy()
        super().all_reduce(array, dtype, op, timeout)
        if last is not None:
            last[...] = before


class WaitsForTheReceiver(LocalComm):
    """A send returns when the message was received: ranks that both send first wait forever."""

    def send(self, array, dtype, dst, tag, timeout):
        super().send(array, dtype, dst, tag, timeout)
        end = time.monotonic() + timeout
        with self._hub.changed:
            while self._hub.messages.get((dst, tag)):
                if not self._hub.changed.wait(0.05) and time.monotonic() > end:
                    raise CommTimeout("nobody took the message", [self.context.ranks[dst]])


class ReducesInFloat32(LocalComm):
    def all_reduce(self, array, dtype, op, timeout):
        if dtype is float64:
            array[...] = array.astype(np.float32)
        super().all_reduce(array, dtype, op, timeout)


class OwnOrderOnEachRank(LocalComm):
    """Each rank adds in an order of its own, so sums are rounded differently."""

    def _combined(self, call, array, dtype, op, timeout):
        shown = self._meet(call, array, timeout)
        total = shown[self.context.rank].copy()
        for i in range(1, self.context.size):
            reduce_into(op, dtype, total, shown[(self.context.rank + i) % self.context.size])
        return total


class IgnoresTags(LocalComm):
    def send(self, array, dtype, dst, tag, timeout):
        super().send(array, dtype, dst, 0, timeout)

    def recv(self, array, dtype, src, tag, timeout):
        return super().recv(array, dtype, src, 0, timeout)


class Averages(LocalComm):
    def all_reduce(self, array, dtype, op, timeout):
        super().all_reduce(array, dtype, op, timeout)
        if op == "sum" and array.dtype.kind == "f":
            array /= self.context.size


class OverwritesItsInput(LocalComm):
    def reduce_scatter(self, out, array, dtype, op, timeout):
        super().all_reduce(array, dtype, op, timeout)
        out[...] = array.reshape(self.context.size, -1)[self.context.rank]


class BarrierOfNobody(LocalComm):
    def barrier(self, timeout):
        pass


class SendsWhatComesLater(LocalComm):
    """The array is read when the receiver asks for it, not when it is sent."""

    def send(self, array, dtype, dst, tag, timeout):
        hub = self._hub
        with hub.changed:
            box = hub.messages.setdefault((dst, tag), deque())
            box.append((self.context.rank, dtype, array))
            hub.changed.notify_all()


class NotANumberLoses(LocalComm):
    def _combined(self, call, array, dtype, op, timeout):
        if op != "min" or array.dtype.kind != "f":
            return super()._combined(call, array, dtype, op, timeout)
        return np.fmin.reduce(self._meet(call, array, timeout))


class AddsBitsOfBfloat16(LocalComm):
    def _combined(self, call, array, dtype, op, timeout):
        if dtype is not bfloat16 or op != "sum":
            return super()._combined(call, array, dtype, op, timeout)
        return np.add.reduce(self._meet(call, array, timeout), dtype=np.uint16)


class LiesAboutTheSender(LocalComm):
    def recv(self, array, dtype, src, tag, timeout):
        super().recv(array, dtype, src, tag, timeout)
        return 0


class HasNoGathering(LocalComm):
    def all_gather(self, out, array, dtype, timeout):
        raise NotImplementedError


class LeaksAThread(LocalComm):
    def __init__(self, context):
        super().__init__(context)
        threading.Thread(target=threading.Event().wait, daemon=True).start()


PORTS = []


class LeaksAPort(TcpComm):
    def __init__(self, context):
        super().__init__(context)
        PORTS.append(socket.create_server(("127.0.0.1", 0)))


class SwallowsALostPeer(TcpComm):
    def all_reduce(self, array, dtype, op, timeout):
        try:
            super().all_reduce(array, dtype, op, timeout)
        except CommError:
            time.sleep(0.1)


class Hangs(TcpComm):
    """Large sums never end, whatever the time-out."""

    def all_reduce(self, array, dtype, op, timeout):
        if array.size > 1000:
            threading.Event().wait()
        super().all_reduce(array, dtype, op, timeout)


class Dies(TcpComm):
    def broadcast(self, array, dtype, src, timeout):
        if self.context.rank == 1 and array.size:
            os.write(2, b"a library says why\n")
            os._exit(3)
        super().broadcast(array, dtype, src, timeout)


class DoesNotStart(TcpComm):
    def __init__(self, context):
        raise CommError("no such network")


class ComparesNothing(LocalComm):
    def _meet(self, call, array, timeout):
        return super()._meet(Call.of("barrier"), array, timeout)


class ComparesSizesAlone(TcpComm):
    def _begin(self, kind, nbytes=0, *rest, **more):
        return super()._begin("barrier", nbytes)


class ForgetsWhatALeaverSent(LocalComm):
    def peer_left(self, rank):
        with self._hub.changed:
            for box in self._hub.messages.values():
                for message in [m for m in box if m[0] == rank]:
                    box.remove(message)


class DropsWhatADeadRankSent(TcpComm):
    def peer_died(self, rank):
        with self._messages._changed:
            for message in [m for m in self._messages._kept if m[0] == rank]:
                self._messages._kept.remove(message)
        return super().peer_died(rank)
