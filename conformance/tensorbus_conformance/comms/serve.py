"""What runs in the processes of the ranks: cases, as the parent names them."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import traceback
import warnings
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

import tensorbus.distributed as dist
from tensorbus import discovery
from tensorbus.plugin import COMM_OPTIONAL, COMM_REQUIRED
from tensorbus_conformance import formats
from tensorbus_conformance.comms import cases
from tensorbus_conformance.comms.case import CommCase
from tensorbus_conformance.comms.rank import MEETING, Abandoned, Rank
from tensorbus_conformance.comms.setting import Setting
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.report import BLOCKED, FAIL, PASS, UNSUPPORTED
from tensorbus_conformance.trial import Unsupported

SETTING = "TENSORBUS_CONFORMANCE_RANK"
"""The file with the setting, for ranks that the comm's own launcher starts."""

CHOICE = "TENSORBUS_PLUGINS"

Answer = tuple[str, str, bool]
"""The outcome, a message, and whether the rank is still in step with the others."""


def main(setting: Setting, number: int) -> None:
    """Be one rank, or all of them where ranks are threads, until the parent says the end."""
    _settle(setting, number)
    if setting.threads:
        _threads(setting)
    else:
        with _connect(setting, number) as line:
            _rank(setting, number, line, joined=False)


def _settle(setting: Setting, number: int) -> None:
    sys.path[:] = setting.paths
    if os.environ.get(CHOICE):
        # What the user leaves out is not what is under test.
        os.environ[CHOICE] += f",comm:{setting.name}"
    os.chdir(setting.folder)
    os.environ["TMPDIR"] = tempfile.tempdir = setting.folder
    file = Path(setting.errors) / f"{setting.label}-{number}"
    descriptor = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    warnings.simplefilter("ignore")


def _connect(setting: Setting, number: int) -> Connection:
    line = Client(setting.address, authkey=setting.key)
    line.send(("hello", number, os.getpid()))
    return line


def _threads(setting: Setting) -> None:
    def one() -> None:
        number = dist.get_rank()
        with _connect(setting, number) as line:
            _rank(setting, number, line, joined=True)

    try:
        dist.local.run(one, setting.size, backend=setting.name, timeout=MEETING)
    except BaseException as e:
        with contextlib.suppress(OSError), _connect(setting, -1) as line:
            line.send(("broken", _failure(e)))


def _rank(setting: Setting, number: int, line: Connection, joined: bool) -> None:
    rank = Rank(setting, number, line)
    try:
        if joined:
            rank.joined()
        else:
            rank.join()
        claimed = [d.name for d in formats.ALL if d in rank.claims()]
        line.send(("ready", claimed, rank.device.partition(":")[0]))
    except BaseException as e:
        line.send(("broken", _failure(e)))
        return
    with contextlib.suppress(EOFError, OSError):
        while (word := line.recv())[0] == "case":
            answer = _run(rank, cases.find(word[1]))
            rank.close_opened()
            line.send(("done", *answer, rank.reported))
        if dist.is_initialized():
            dist.destroy_process_group()
        line.send(("ended",))


def _run(rank: Rank, case: CommCase) -> Answer:
    rank.begin(case.id)
    try:
        if dist.is_initialized():
            missing = [d.name for d in case.dtypes if d not in rank.claims()]
            if missing:
                return UNSUPPORTED, f"the comm does not claim {', '.join(missing)}", True
        case.check(rank)
    except Unsupported as e:
        return UNSUPPORTED, str(e), True
    except Abandoned:
        return BLOCKED, "another rank had failed", False
    except Mismatch as e:
        return FAIL, str(e), False
    except BaseException as e:
        return _failed(e, case)
    if rank.wrong:
        return FAIL, "; ".join(rank.wrong[:3]), True
    return PASS, "", True


def _failed(error: BaseException, case: CommCase) -> Answer:
    call = _not_written(error)
    if call == case.op:
        return FAIL, f"{call} is not offered", False
    if call:
        return BLOCKED, f"needs {call}, which is not offered", False
    return FAIL, _failure(error), False


def _not_written(error: BaseException) -> str:
    """The call of the contract that a comm does not have, where that is why it failed."""
    if not isinstance(error, NotImplementedError):
        return ""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return frame.name if frame.name in (*COMM_REQUIRED, *COMM_OPTIONAL) else ""


def _failure(error: BaseException) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1]
    source = f"{where.filename.rpartition('/')[2]}:{where.lineno}"
    if isinstance(error, NotImplementedError) and not str(error):
        return f"{where.name} is not offered"
    return f"raised {type(error).__name__}: {error} (at {source})"


def launched() -> None:
    """Be the rank that the comm's own launcher says."""
    import pickle

    setting: Any = pickle.loads(Path(os.environ[SETTING]).read_bytes())
    found = discovery.comm_spec(setting.name).launched_by()
    main(setting, -1 if found is None else found.rank)


if __name__ == "__main__":
    launched()
