"""Why a plugin can't be used, and what to do about it, in words."""

from __future__ import annotations

import importlib.metadata
import re
from typing import TYPE_CHECKING

from tensorbus._base.warning import warn_user
from tensorbus.discovery.metadata import BACKENDS, BUILT_IN, VARIABLE, Record, canonical

if TYPE_CHECKING:
    from tensorbus.plugin.hooks import BackendSpec, OverlaySpec


def keep(record: Record, exception: BaseException, install: str = "") -> None:
    """Keep in the record what was raised, and what to do: *install*, or what can be told from it.

    A plugin may call ``sys.exit()`` or raise any ``BaseException`` while it is imported; the user's
    own Ctrl-C is the one thing that isn't the plugin's fault, and is raised again.
    """
    if isinstance(exception, KeyboardInterrupt):
        raise exception
    remedy = install or _bring_missing(record, exception)
    remedy = remedy or f"reinstall or remove {record.distribution}"
    record.fail(exception, "" if remedy in str(exception) else remedy)


def unknown(group: str, name: str, known: list[str]) -> str:
    """The sentence for whoever asks for a name that no plugin has; *known* are those there are."""
    if group != BACKENDS:
        return f"no plugin declares {name!r} in {group}: {', '.join(known) or 'none'} exist"
    installed = [other for other in known if other not in BUILT_IN]
    if not installed:
        return (
            f"device type {name!r} has no plugin, and none is installed at all: "
            f"'pip install tensorbus-cpu' brings the device cpu, 'pip install tensorbus' all "
            f"of tensorbus' own (those of a checkout are found once pip has installed it)"
        )
    if name == "cpu":
        return (
            f"the device 'cpu' is not installed: it is the default, prints the tensors of "
            f"other devices, and runs the ops that they lack. Install it with "
            f"'pip install tensorbus-cpu', or name another device: {', '.join(installed)}"
        )
    return (
        f"Expected one of {', '.join(known)} device type at start of device string: {name} "
        f"(further types come with plugins; `tensorbus devices` shows those installed)"
    )


def unusable(kind: str, record: Record) -> str:
    """The sentence for whoever asks for a plugin that failed."""
    cause = record.exception
    reason = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
    text = f"{kind} {record.name!r} of {record.owner} can't be used: {reason}"
    return f"{text.rstrip('.')}. What to do: {record.remedy}" if record.remedy else text


def install_command(spec: BackendSpec | OverlaySpec, exception: BaseException) -> str:
    """The command that brings what is missing: the plugin's own, or pip with what it requires."""
    missing = isinstance(exception, ImportError) or isinstance(exception.__cause__, ImportError)
    if spec.install or not spec.requires or not missing:
        return spec.install
    return "pip install " + " ".join(spec.requires)


def left_out(problem: str) -> None:
    """Warn the user, at the line that asked for a device, that a plugin is left out."""
    # No RuntimeWarning: those of our own modules are filtered out, for NumPy's sake.
    warn_user(problem, UserWarning)


def displace(own: Record, other: Record) -> str:
    """Another distribution claims the name of one of tensorbus' own plugins, which stays in charge.

    The other one's record fails; the result says so.
    """
    text = (
        f"{own.name!r} of {own.group} is tensorbus' own, but {other.owner} claims that name too "
        f"and is left out"
    )
    remedy = (
        f"uninstall {other.distribution}, or choose it with "
        f"{VARIABLE}=distribution:{other.distribution}"
    )
    other.fail(RuntimeError(text), remedy)
    return f"{text}. What to do: {remedy}"


def _bring_missing(record: Record, exception: BaseException) -> str:
    """The pip command that brings a module that is missing, as the plugin's own metadata has it."""
    link: BaseException | None = exception
    while link is not None:
        if isinstance(link, ModuleNotFoundError) and link.name:
            return _pip_command(record.distribution, link.name.partition(".")[0])
        link = link.__cause__ or link.__context__
    return ""


def _pip_command(distribution: str, module: str) -> str:
    try:
        requirements = importlib.metadata.requires(distribution) or []
    except Exception:  # unreadable metadata: there is another remedy
        return ""
    extras = []
    for requirement in requirements:
        wanted, _, marker = (part.strip() for part in requirement.partition(";"))
        name = re.match(r"[\w.-]*", wanted)
        # A library is often packed once for each version of its driver: npulib-12 brings npulib.
        if name is None or not f"{canonical(name[0])}-".startswith(f"{canonical(module)}-"):
            continue
        extra = re.search(r"""\bextra\s*==\s*["']([^"']+)""", marker)
        if extra is None:
            return f"pip install '{wanted}'"
        if extra[1] not in extras:
            extras.append(extra[1])
    return " or ".join(f"pip install '{distribution}[{extra}]'" for extra in extras)
