"""Forks the ranks of jobs: a process that has imported tensorbus once, for all tests of a session.

Over a socket on standard input it is told what to run: JSON with ``argv``, ``env`` and ``program``,
with the descriptors that become the rank's standard output and errors, and one to which it writes
the rank's process id, and its exit code when it has ended.
"""

import atexit
import json
import os
import select
import signal
import socket
import sys
import traceback


def become(program, argv, env):
    """Run a program in this forked process as if it had been started, and end."""
    code = 1
    os.environ.clear()
    os.environ.update(env)
    sys.argv = argv
    try:
        exec(compile(program, "<rank>", "exec"), {"__name__": "__main__"})
        code = 0
    except SystemExit as e:
        if isinstance(e.code, str):
            print(e.code, file=sys.stderr)
        code = e.code if isinstance(e.code, int) else int(e.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _start(server, out, err, request):
    """The process id of a rank, forked here: this process has one thread only."""
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        server.detach()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        # Whatever else is open belongs to other ranks.
        os.closerange(3, 1024)
        become(**request)
    return pid


def main():
    import tensorbus.distributed  # noqa: F401

    server = socket.socket(fileno=0)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    running = {}
    while True:
        ready, _, _ = select.select([server, woken], [], [])
        if server in ready:
            data, descriptors, _, _ = socket.recv_fds(server, 1 << 20, 3)
            if not data:
                return
            out, err, back = descriptors
            pid = _start(server, out, err, json.loads(data))
            running[pid] = back
            os.write(back, b"%d\n" % pid)
            os.close(out)
            os.close(err)
        if woken in ready:
            os.read(woken, 4096)
            for pid in list(running):
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    back = running.pop(pid)
                    os.write(back, b"%d\n" % os.waitstatus_to_exitcode(status))
                    os.close(back)


if __name__ == "__main__":
    main()
