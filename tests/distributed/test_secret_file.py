"""The secret that a user's processes share on a machine: in a file that nobody else can read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import tensorbus.distributed as dist
from tensorbus.distributed import secret
from tensorbus.plugin import CommContext
from tensorbus_comm_tcp.comm import TcpComm

pytestmark = pytest.mark.skipif(os.name != "posix", reason="owners and modes of files are POSIX's")


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The folder of the user's settings, and that for temporary files."""
    settings, temporary = tmp_path / "settings", tmp_path / "tmp"
    settings.mkdir()
    temporary.mkdir()
    monkeypatch.delenv(secret.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(settings))
    monkeypatch.setattr(secret.tempfile, "gettempdir", lambda: str(temporary))
    return settings, temporary


def modes(file: Path) -> list[int]:
    return [stat.S_IMODE(f.stat().st_mode) for f in (file.parent, file)]


def test_it_is_made_once_for_its_owner_alone(places: tuple[Path, Path]) -> None:
    old = os.umask(0)
    try:
        made = secret.user_secret()
    finally:
        os.umask(old)
    file = places[0] / "tensorbus" / "job-secret"
    assert modes(file) == [0o700, 0o600]
    assert file.read_bytes().strip() == made and len(made) == 64
    assert secret.user_secret() == made
    assert os.listdir(file.parent) == ["job-secret"]
    file.unlink()
    assert secret.user_secret() != made


def test_processes_that_make_it_at_once_get_the_same(places: tuple[Path, Path]) -> None:
    start, begin = os.pipe()
    told, tell = os.pipe()
    children = []
    for _ in range(12):
        child = os.fork()
        if child == 0:
            try:
                os.read(start, 1)
                os.write(tell, secret.user_secret() + b"\n")
            finally:
                os._exit(0)
        children.append(child)
    os.write(begin, b"x" * len(children))
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    os.close(tell)
    with os.fdopen(told) as lines:
        found = lines.read().split()
    assert len(found) == 12 and len(set(found)) == 1
    assert os.listdir(places[0] / "tensorbus") == ["job-secret"]
    for end in (start, begin):
        os.close(end)


def test_a_link_is_not_followed(places: tuple[Path, Path], tmp_path: Path) -> None:
    known = tmp_path / "known"
    known.write_text("a secret that somebody else knows")
    known.chmod(0o600)
    folder = places[0] / "tensorbus"
    folder.mkdir(mode=0o700)
    (folder / "job-secret").symlink_to(known)
    with pytest.raises(RuntimeError, match="is a link: remove it, or set TENSORBUS_JOB_SECRET"):
        secret.user_secret()


def test_a_folder_that_is_a_link_is_not_used(places: tuple[Path, Path], tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (places[0] / "tensorbus").symlink_to(elsewhere)
    secret.user_secret()
    assert os.listdir(elsewhere) == []
    file = places[1] / f"tensorbus-{os.geteuid()}" / "job-secret"
    assert modes(file) == [0o700, 0o600]


@pytest.mark.parametrize(("what", "mode"), [("file", 0o640), ("file", 0o604), ("folder", 0o777)])
def test_one_that_others_can_read_or_write_is_refused(
    places: tuple[Path, Path], what: str, mode: int
) -> None:
    secret.user_secret()
    file = places[0] / "tensorbus" / "job-secret"
    (file if what == "file" else file.parent).chmod(mode)
    with pytest.raises(RuntimeError, match=f"open to other users .mode {mode:o}.* remove it"):
        secret.user_secret()


@pytest.mark.parametrize("what", ["folder", "a pipe", "empty"])
def test_what_is_no_secret_is_refused(places: tuple[Path, Path], what: str) -> None:
    folder = places[0] / "tensorbus"
    folder.mkdir(mode=0o700)
    file = folder / "job-secret"
    if what == "folder":
        file.mkdir()
    elif what == "a pipe":
        os.mkfifo(file, 0o600)
    else:
        file.touch(0o600)
    with pytest.raises(RuntimeError, match="no plain file|is empty"):
        secret.user_secret()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives away")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_one_that_another_user_made_is_refused(places: tuple[Path, Path], what: str) -> None:
    secret.user_secret()
    file = places[0] / "tensorbus" / "job-secret"
    os.chown(file if what == "file" else file.parent, 65534, 65534)
    with pytest.raises(RuntimeError, match="belongs to user 65534, so the secret in it"):
        secret.user_secret()


def test_without_any_folder_the_error_says_what_to_do(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no" / "such"))
    monkeypatch.setattr(secret.tempfile, "gettempdir", lambda: str(tmp_path / "nor" / "this"))
    with pytest.raises(RuntimeError, match="set TENSORBUS_JOB_SECRET to the same random text"):
        secret.user_secret()


def test_nothing_listens_without_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for host in ("127.0.0.1", "0.0.0.0"):
        with pytest.raises(ValueError, match=f"without a secret nothing listens at {host}"):
            dist.TCPStore(host, 0, is_master=True, secret=b"")
    monkeypatch.setenv("TENSORBUS_INTERFACE", "0.0.0.0")
    with pytest.raises(ValueError, match="an address that other machines can reach"):
        TcpComm(CommContext("g", 0, (0, 1), 3.0, dist.HashStore()))
