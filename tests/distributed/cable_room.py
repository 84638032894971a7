"""Starts the ranks of a job on hosts of their own, which a cable of the test's own connects.

    unshare -Urn python cable_room.py SETTINGS

Each rank runs in a network namespace of its own: a host with one network card, 10.77.0.1 and so
on (rank R's is called cardR), whose cable leads to a switch in this process's namespace. When a
rank prints ``CUT R`` the cable of rank R is pulled. SETTINGS is JSON: ``program``, ``size``,
``how`` (``card``: the card sees that the cable is gone; ``switch``: it does not), ``seconds``.
Prints JSON: each rank's exit code, output and errors. Namespaces and cables end with the processes
in them.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import traceback

from zygote import become

import tensorbus.distributed  # noqa: F401

UNPLUG = {"card": "ip link set port{0} down", "switch": "ip link set port{0} nomaster"}
SWITCH = "ip link add switch0 type bridge mcast_snooping 0 && ip link set switch0 up"
CABLE = (
    "ip link add port{0} type veth peer name card{0} netns {1} && "
    "ip link set port{0} master switch0 up"
)
HOST = """
ip link set lo up
ip link set card{0} addrgenmode none up
ip addr add 10.77.0.{1}/24 dev card{0}
ip addr add fe80::{1}/64 dev card{0} nodad
ip route add 224.0.0.0/4 dev card{0}
ip -6 route add multicast ff15::/16 dev card{0} table local
"""
CLONE_NEWNET = 0x40000000


def shell(command):
    subprocess.run(["sh", "-c", command], check=True, capture_output=True, text=True)


class Host:
    """A rank on a host of its own, which waits for its cable: forked, with tensorbus imported."""

    def __init__(self, rank, settings):
        there, self._go = os.pipe()
        here, moved = os.pipe()
        self.out, out = os.pipe()
        self.err, err = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._live(rank, settings, moved, there, out, err)
            finally:
                traceback.print_exc()
                os._exit(1)
        for end in (there, moved, out, err):
            os.close(end)
        os.read(here, 1)
        os.close(here)

    def _live(self, rank, settings, moved, there, out, err):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "no network namespace can be made")
        os.write(moved, b".")
        os.read(there, 1)
        shell(HOST.format(rank, rank + 1))
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.closerange(3, 256)
        become(
            settings["program"],
            ["-c", str(rank), str(settings["size"]), "29500"],
            os.environ.copy(),
        )

    def go(self):
        os.write(self._go, b".")


def read(source, how, heard):
    with open(source) as lines:
        for line in lines:
            heard.append(line)
            if line.startswith("CUT "):
                shell(UNPLUG[how].format(int(line.split()[1])))


def main():
    settings = json.loads(sys.argv[1])
    shell(SWITCH)
    hosts = [Host(rank, settings) for rank in range(settings["size"])]
    texts, threads = [], []
    for rank, host in enumerate(hosts):
        shell(CABLE.format(rank, host.pid))
    for host in hosts:
        host.go()
        for source in (host.out, host.err):
            texts.append([])
            threads.append(threading.Thread(target=read, args=(source, settings["how"], texts[-1])))
    for thread in threads:
        thread.start()
    over = threading.Timer(
        settings["seconds"], lambda: [os.kill(host.pid, signal.SIGKILL) for host in hosts]
    )
    over.start()
    for thread in threads:
        thread.join()
    over.cancel()
    codes = [os.waitstatus_to_exitcode(os.waitpid(host.pid, 0)[1]) for host in hosts]
    told = ["".join(lines) for lines in texts]
    print(json.dumps(list(zip(codes, told[::2], told[1::2], strict=True))))


if __name__ == "__main__":
    main()
