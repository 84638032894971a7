"""Meeting by IP multicast: processes that know only a group address and how many they are.

Each announces a random number and listens for the others. The one with the least number serves
the store and announces its port; the others take their ranks there. Announcements carry a proof
of the job's secret, so those of strangers count for nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import ipaddress
import json
import os
import socket
import struct
import threading
import time
from typing import Any

from tensorbus.distributed.errors import DistNetworkError
from tensorbus.distributed.tcp_store import TCPStore
from tensorbus.plugin.wire import host_of

_EVERY = 0.05
_LARGEST = 2048


def is_group(host: str) -> bool:
    """Whether an address is that of a multicast group."""
    try:
        return ipaddress.ip_address(host.split("%")[0]).is_multicast
    except ValueError:
        return False


class Announcements:
    """This process's announcements, repeated until it is closed, and those of the others."""

    def __init__(self, host: str, port: int, secret: bytes, rank: int):
        self._secret = secret
        self.own = os.urandom(16).hex()
        self._said: dict[str, Any] = {"id": self.own, "rank": rank}
        self._closed = threading.Event()
        self._networks = [0]
        """The networks to announce on; 0 is the system's choice."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        interface = os.environ.get("TENSORBUS_INTERFACE", "")
        self._target = socket.getaddrinfo(host, port, family, socket.SOCK_DGRAM)[0][4]
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind(("", port))
            if family == socket.AF_INET6:
                self._networks = self._join_ipv6(host)
            else:
                local = socket.inet_aton(interface or "0.0.0.0")
                member = socket.inet_aton(host) + local
                self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
                self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
                if interface:
                    self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, local)
        except OSError as e:
            self._socket.close()
            raise DistNetworkError(
                f"this machine cannot join the multicast group {host}: {e}. Use tcp://HOST:PORT, "
                f"or name a network with TENSORBUS_INTERFACE"
            ) from e
        threading.Thread(target=self._announce, daemon=True).start()

    def _join_ipv6(self, host: str) -> list[int]:
        """Join on every network that takes a datagram; on loopback where there is no other."""
        group = socket.inet_pton(socket.AF_INET6, host.split("%")[0])
        self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 1)
        joined: list[int] = []
        last = OSError("there is no network")
        names = sorted(socket.if_nameindex(), key=lambda pair: pair[1].startswith("lo"))
        for index, name in names:
            if joined and name.startswith("lo"):
                break
            try:
                member = group + struct.pack("@I", index)
                self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, member)
                self._send(b"", [index])
                joined.append(index)
            except OSError as e:
                last = e
        if not joined:
            raise last
        return joined

    def _send(self, data: bytes, networks: list[int]) -> None:
        for index in networks:
            if index:
                self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
            self._socket.sendto(data, self._target)

    def say(self, **more: Any) -> None:
        """Announce this besides the number."""
        self._said = self._said | more

    def _announce(self) -> None:
        while not self._closed.is_set():
            body = json.dumps(self._said).encode()
            with contextlib.suppress(OSError):
                self._send(self._proof(body) + body, self._networks)
            self._closed.wait(_EVERY)

    def _proof(self, body: bytes) -> bytes:
        return hmac.digest(self._secret or b"\0", b"announces" + body, hashlib.sha256)

    def hear(self, timeout: float) -> tuple[dict[str, Any], str] | None:
        """The next announcement of this job, with its sender's address."""
        self._socket.settimeout(timeout)
        try:
            data, sender = self._socket.recvfrom(_LARGEST)
            proof, body = data[:32], data[32:]
            if hmac.compare_digest(proof, self._proof(body)):
                return json.loads(body), host_of(sender)
        except (OSError, ValueError):
            pass
        return None

    def close(self) -> None:
        """Stop announcing."""
        self._closed.set()
        self._socket.close()


def meet(
    host: str, port: int, rank: int, world_size: int, secret: bytes, timeout: float
) -> tuple[TCPStore, Announcements]:
    """The store of the job that meets at a group; announce until all have taken their ranks.

    Rank 0 serves it, where the ranks are known (else *rank* is -1).
    """
    said = Announcements(host, port, secret, rank if rank >= 0 else world_size)
    try:
        return _find_store(said, world_size, secret, timeout), said
    except BaseException:
        said.close()
        raise


def _find_store(said: Announcements, world_size: int, secret: bytes, timeout: float) -> TCPStore:
    found: dict[str, tuple[dict[str, Any], str]] = {}
    served: TCPStore | None = None
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        heard = said.hear(0.2)
        if heard is None:
            continue
        found[heard[0]["id"]] = heard
        leader = min(found, key=lambda id: (found[id][0]["rank"], id))
        if len(found) < world_size:
            continue
        if leader == said.own and served is None:
            address = found[said.own][1]
            served = TCPStore(address, 0, is_master=True, timeout=timeout, secret=secret)
            said.say(port=served.port, host=address)
            return served
        card, sender = found[leader]
        if leader != said.own and "port" in card:
            # The zone of a link-local address (fe80::1%eth0) is that of this machine.
            host = sender if "%" in sender else card["host"]
            return TCPStore(host, card["port"], timeout=timeout, secret=secret)
    raise DistNetworkError(
        f"{len(found)} of {world_size} processes met at the multicast group within {timeout:g} "
        f"seconds: start the others, with the same TENSORBUS_JOB_SECRET, on networks that "
        f"multicast reaches"
    )
