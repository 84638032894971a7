"""Makes the site's reference from the signatures and docstrings of the public names.

mkdocs calls ``on_files``, as mkdocs.yml asks it to. A page is ``reference/NAMESPACE.md``; the
namespaces are PyTorch's, as docs/coverage.md has them.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

from tensorbus._base import absent

SPACES = (
    "torch",
    "Tensor",
    "hub",
    "nn",
    "nn.functional",
    "nn.init",
    "nn.utils",
    "nn.utils.parametrizations",
    "nn.utils.parametrize",
    "nn.utils.prune",
    "nn.parallel",
    "optim",
    "optim.lr_scheduler",
    "optim.swa_utils",
    "autograd",
    "autograd.graph",
    "autograd.forward_ad",
    "autograd.functional",
    "func",
    "fft",
    "linalg",
    "special",
    "signal.windows",
    "utils.backcompat",
    "utils.benchmark",
    "utils.checkpoint",
    "utils.data",
    "distributed",
    "distributed.nn",
    "amp",
    "cuda.amp",
    "cpu",
    "cpu.amp",
    "accelerator",
    "cuda",
    "compiler",
    "backends.cpu",
    "backends.cuda",
    "backends.cudnn",
    "backends.mkl",
    "backends.mkldnn",
    "backends.mps",
    "backends.openmp",
    "library",
    "overrides",
    "profiler",
    "autograd.profiler",
    "random",
    "serialization",
    "testing",
)
OWN = {"torch": ("set_fallback", "get_fallback", "fallback_counts")}
"""Names that PyTorch does not have."""

_CODE = re.compile(r"``(.+?)``", re.S)
_ADDRESS = re.compile(r" (at|object at) 0x[0-9a-f]+")


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add a page for each namespace."""
    from mkdocs.structure.files import File

    for space in SPACES:
        files.append(File.generated(config, f"reference/{space}.md", content=page(space)))
    return files


def page(space: str) -> str:
    """The text of one namespace's page."""
    prefix = "torch" if space == "torch" else f"torch.{space}"
    parts = [f"# {prefix}\n"]
    for name, value in members(space):
        lines = [f"## {name}\n", f"```text\n{prefix}.{name}{_signature(value)}\n```\n"]
        parts += [*lines, _text(value)]
    return "\n".join(parts)


def members(space: str) -> Iterator[tuple[str, Any]]:
    """The public functions, classes, methods and properties of a namespace, by name."""
    home: Any = importlib.import_module("tensorbus")
    if space != "torch":
        home = home.Tensor if space == "Tensor" else importlib.import_module(f"tensorbus.{space}")
    ours = (*getattr(home, "__all__", ()), *OWN.get(space, ()))
    listed = {*absent.documented().get(space, ()), *ours}
    present = [name for name in listed if hasattr(home, name)]
    for name in sorted(present, key=lambda n: (n.lower(), n)):
        # On the class a property is itself; a method that is not made yet is made by asking.
        value = inspect.getattr_static(home, name, None)
        if not isinstance(value, property):
            value = getattr(home, name)
        if isinstance(value, property) or callable(value):
            yield name, value


def _signature(value: Any) -> str:
    """The parameters and the result, one to a line where they are many."""
    if isinstance(value, property):
        return ""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    text = _ADDRESS.sub("", str(found)).replace("'", "").replace("dtypes.dtype", "dtype")
    if len(text) <= 90:
        return text
    shown = [_ADDRESS.sub("", str(p)).replace("'", "") for p in found.parameters.values()]
    kinds = [p.kind for p in found.parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL not in kinds and inspect.Parameter.KEYWORD_ONLY in kinds:
        shown.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    result = text[text.rindex(" -> ") :] if " -> " in text else ""
    return "(\n" + "".join(f"    {p},\n" for p in shown) + ")" + result


def _text(value: Any) -> str:
    """The docstring, its examples in fences."""
    lines, example = [], False
    for line in (inspect.getdoc(value) or "").splitlines():
        if line.lstrip().startswith(">>>") and not example:
            lines += ["", "```text"]
            example = True
        elif example and not line.strip():
            lines += ["```"]
            example = False
        lines.append(line if example else _plain(line))
    return "\n".join([*lines, *(["```"] if example else []), ""])


def _plain(line: str) -> str:
    """A line of prose: code in one kind of quote, and nothing that Markdown takes for a link."""
    return _CODE.sub(r"`\1`", line)
