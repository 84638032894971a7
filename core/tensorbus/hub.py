"""``torch.hub``: models that a folder's ``hubconf.py`` offers, and files of weights.

Repositories are read from folders of this machine; nothing is cloned.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Generator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.leaving import block as _block
from tensorbus.serialization import load as _load

try:
    tqdm: Any = importlib.import_module("tqdm").tqdm
except ImportError:

    class tqdm:  # type: ignore[no-redef]
        """Stands for the progress bars of the package of this name: shows nothing."""

        def __init__(self, iterable: Any = (), *args: Any, **kwargs: Any):
            self.iterable = iterable

        def __iter__(self) -> Any:
            return iter(self.iterable)

        def update(self, n: float = 1) -> None:
            """Nothing happens."""

        def close(self) -> None:
            """Nothing happens."""

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *args: object) -> None:
            pass


__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

_HUBCONF = "hubconf.py"
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_PIECE = 1 << 20
_dir: Path | None = None


def get_dir() -> str:
    """Where repositories and weights are kept: PyTorch's folder, so that its files are found.

    That is ``$TORCH_HOME/hub``, or ``torch/hub`` in ``$XDG_CACHE_HOME`` or ``~/.cache``.

    >>> import tensorbus
    >>> tensorbus.hub.get_dir().endswith("hub")
    True
    """
    if _dir is not None:
        return str(_dir)
    return os.path.join(_get_torch_home(), "hub")


def _get_torch_home() -> str:
    """The folder of all that is downloaded, by the name under which libraries ask for it."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))
    return os.path.expanduser(home)


def set_dir(d: str | os.PathLike[str]) -> None:
    """Keep them in another folder."""
    global _dir
    _dir = Path(d).expanduser()


# -- repositories ----------------------------------------------------------------------------
def list(
    github: str, force_reload: bool = False, skip_validation: bool = False,
    trust_repo: Any = "check", verbose: bool = True,
) -> Any:  # fmt: skip
    """The names of what a repository offers: the functions of its ``hubconf.py``."""
    with _hubconf(_github_folder(github)) as module:
        return [n for n, f in vars(module).items() if callable(f) and not n.startswith("_")]


def help(
    github: str, model: str, force_reload: bool = False, skip_validation: bool = False,
    trust_repo: Any = "check",
) -> str | None:  # fmt: skip
    """What one of them says of itself."""
    with _hubconf(_github_folder(github)) as module:
        doc: str | None = _entry(module, model).__doc__
        return doc


def load(
    repo_or_dir: str, model: str, *args: Any, source: str = "github", trust_repo: Any = "check",
    force_reload: bool = False, verbose: bool = True, skip_validation: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """Call an entry of a repository's ``hubconf.py`` with *args* and *kwargs*.

    With ``source="local"`` *repo_or_dir* is a folder; else ``owner/name[:ref]``, which must lie in
    ``get_dir()`` already. RuntimeError where it does not, for missing packages, and for names that
    the repository does not offer. The code of the repository runs: trust it first.
    """
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    folder = Path(repo_or_dir) if source == "local" else _github_folder(repo_or_dir)
    with _hubconf(folder) as module:
        return _entry(module, model)(*args, **kwargs)


def _github_folder(github: str) -> Path:
    found = re.fullmatch(r"([^/:]+)/([^/:]+)(?::(.+))?", github)
    if found is None:
        raise ValueError(f"a repository is named owner/name or owner/name:ref, not {github!r}")
    owner, name, ref = found.groups()
    refs = ("main", "master") if ref is None else (ref.replace("/", "_"),)
    folders = [Path(get_dir(), f"{owner}_{name}_{r}") for r in refs]
    for folder in folders:
        if folder.is_dir():
            return folder
    raise RuntimeError(
        f"{github} is not in {get_dir()}, and nothing is cloned from the network: clone it to "
        f"{folders[0]}, or anywhere and name that folder with source='local'"
    )


@_block
def _hubconf(folder: Path) -> Generator[ModuleType, None, None]:
    """A folder's ``hubconf.py``, imported anew; its own modules are found while it is in use."""
    spec = importlib.util.spec_from_file_location("hubconf", folder / _HUBCONF)
    assert spec is not None and spec.loader is not None
    added = str(folder)
    try:
        sys.path.insert(0, added)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        needed = getattr(module, "dependencies", None) or ()
        missing = [name for name in needed if importlib.util.find_spec(name) is None]
        if missing:
            raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
        yield module
    finally:
        sys.path.remove(added)  # one compiled call, which no interrupt divides


def _entry(module: ModuleType, name: Any) -> Any:
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    entry = getattr(module, name, None)
    if not callable(entry):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return entry


# -- files -----------------------------------------------------------------------------------
def load_state_dict_from_url(
    url: str, model_dir: str | os.PathLike[str] | None = None, map_location: Any = None,
    progress: bool = True, check_hash: bool = False, file_name: str | None = None,
    weights_only: bool = False,
) -> Any:  # fmt: skip
    """What ``load`` reads from the file at *url*, which is fetched once and kept in *model_dir*.

    *model_dir* is ``get_dir()/checkpoints`` by default. With *check_hash* the name ends, as in
    ``resnet18-5c106cde.pth``, in the first digits of the file's SHA-256. RuntimeError where the
    file is not there and can't be fetched.
    """
    folder = Path(model_dir) if model_dir is not None else Path(get_dir(), "checkpoints")
    name = file_name or os.path.basename(urlparse(url).path)
    path = folder / name
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, str(path), found.group(1) if found else None, progress)
    return _load(path, map_location=map_location, weights_only=weights_only)


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Fetch a file whole, or leave nothing; RuntimeError where its SHA-256 does not begin with
    *hash_prefix*, or where it can't be reached."""
    target = Path(dst).expanduser()
    digest = hashlib.sha256()
    fd, partial = tempfile.mkstemp(prefix=f"{target.name}.", suffix=".partial", dir=target.parent)
    try:
        with os.fdopen(fd, "wb") as file, _opened(url, target) as source:
            while piece := source.read(_PIECE):
                digest.update(piece)
                file.write(piece)
        if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
            raise RuntimeError(
                f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")'
            )
        os.replace(partial, target)
    finally:
        Path(partial).unlink(missing_ok=True)


def _opened(url: str, target: Path) -> Any:
    request = urllib.request.Request(url, headers={"User-Agent": "tensorbus.hub"})
    try:
        return urllib.request.urlopen(request)
    except urllib.error.URLError as error:
        raise RuntimeError(
            f"{url} can't be fetched ({error.reason}): where there is no network, put the file at "
            f"{target}"
        ) from error


if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
