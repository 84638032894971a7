"""Loads entries, checks what they offer, and turns failures into records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import combinations
from typing import Any, TypeVar

import pluggy

from tensorbus._base import registered
from tensorbus._base.dtypes import dtype
from tensorbus.discovery import _aliases, failures, metadata
from tensorbus.discovery._aliases import DeviceAliases
from tensorbus.discovery.metadata import BACKENDS, COMMANDS, COMMS, OVERLAYS, Record, Selection
from tensorbus.plugin import hooks
from tensorbus.plugin.backend import API, SINCE, Backend, Kernel
from tensorbus.plugin.comm import Comm, CommContext
from tensorbus.plugin.hooks import BackendSpec, CommSpec, OverlaySpec
from tensorbus.plugin.overlay import Overlay

T = TypeVar("T")
Spec = TypeVar("Spec", BackendSpec, CommSpec, OverlaySpec)


class _OneFunction(Overlay):
    """An overlay whose spec has the function ``kernel`` and nothing to load."""

    def __init__(self, find: Callable[[str, dtype, int], Kernel | None]):
        self.find = find

    def kernel(self, op: str, dtype: dtype, index: int) -> Kernel | None:
        return self.find(op, dtype, index)


def _tried(kind: str, record: Record, load: Callable[[], T], install: str = "") -> T:
    """What *load* gives; RuntimeError where it fails, or the record says that it did before."""
    if record.state != "failed":
        try:
            return load()
        except BaseException as e:
            failures.keep(record, e, install)
    raise RuntimeError(failures.unusable(kind, record)) from record.exception


class Loader:
    """The plugins of one process."""

    def __init__(self) -> None:
        self._records = metadata.read()
        self._manager = pluggy.PluginManager(hooks.PROJECT)
        self._manager.add_hookspecs(hooks)
        self._backends: dict[str, Backend] = {}
        self._written_for: dict[str, int] = {}
        self._device_aliases = DeviceAliases(self._claimants, self._backend_spec)
        self._comm_specs: dict[str, CommSpec] = {}
        self._comms: dict[str, Callable[[CommContext], Comm]] = {}
        self._commands: dict[str, object] = {}
        self._overlays: list[OverlaySpec] | None = None
        self._opened: list[tuple[OverlaySpec, Overlay | None]] = []

    @cached_property
    def _selection(self) -> Selection:
        return Selection.from_environment()

    def displaced(self, groups: list[str]) -> list[Record]:
        found = []
        for group in groups:
            for name in self._names(group):
                own, others = metadata.own_first(self._claims(group, name))
                if own is not None:
                    for other in others:
                        failures.displace(own, other)
                    found += others
        return found

    def list_records(self, group: str | None = None) -> list[Record]:
        return [r for r in self._records if group is None or r.group == group]

    def backend_names(self) -> list[str]:
        return self._names(BACKENDS)

    def check_name(self, name: str) -> Record:
        """The record of a device type, which may be given by a further name."""
        if any(record.name == name for record in self.list_records(BACKENDS)):
            return self._sole(BACKENDS, name)
        return self._sole(BACKENDS, self._device_aliases.find(name) or name)

    def aliases_of(self, name: str) -> list[str]:
        """The further names that the plugin of a device type declares."""
        claims = self._device_aliases.claims()
        return sorted(a for a, records in claims.items() if name in {r.name for r in records})

    def _claimants(self) -> list[Record]:
        """The backends that may have further names: those that are in charge of their own."""
        found = []
        for name in self.backend_names():
            own, others = metadata.own_first(self._claims(BACKENDS, name))
            found += [own] if own else others
        return [record for record in found if record.entry_point and record.state != "failed"]

    def backend(self, name: str) -> Backend:
        loaded = self._backends.get(name)
        if loaded is None:
            record = self.check_name(name)
            if record.name != name:
                return self.backend(record.name)
            if record.state != "failed":
                loaded = self._load_backend(record)
            if loaded is None:
                raise RuntimeError(failures.unusable("device type", record)) from record.exception
            self._backends[name] = loaded
        return loaded

    def offered(self, backend: Backend, method: str) -> Callable[..., Any] | None:
        own = getattr(backend, method)
        if self._written_for.get(backend.name, API) < SINCE.get(method, 1):
            return None
        if getattr(own, "__func__", None) is getattr(Backend, method):
            return None
        return own

    def overlay_names(self) -> list[str]:
        return self._names(OVERLAYS)

    def comm_names(self) -> list[str]:
        return self._names(COMMS)

    def comm_spec(self, name: str) -> CommSpec:
        """The spec alone: no vendor library is imported. *name* may be an alias."""
        spec = self._comm_specs.get(name)
        if spec is None:
            own = self._comm_name(name)
            if own != name:
                return self.comm_spec(own)
            record = self._sole(COMMS, name)
            spec = _tried("comm", record, lambda: self._spec(record, "tensorbus_comm", CommSpec))
            self._comm_specs[name] = spec
        return spec

    def comm_aliases(self) -> dict[str, list[CommSpec]]:
        """The specs that have each alias, highest priority first."""
        found: dict[str, list[CommSpec]] = {}
        for name in self.comm_names():
            try:
                spec = self.comm_spec(name)
            except RuntimeError:
                continue  # broken: whoever names it hears why
            for alias in spec.aliases:
                found.setdefault(alias, []).append(spec)
        for specs in found.values():
            specs.sort(key=lambda spec: -spec.priority)
        return found

    def _comm_name(self, name: str) -> str:
        """The own name of the comm that users call so."""
        if any(record.name == name for record in self.list_records(COMMS)):
            return name
        return _aliases.comm_of(name, self.comm_aliases().get(name, []))

    def comm(self, name: str) -> Callable[[CommContext], Comm]:
        loaded = self._comms.get(name)
        if loaded is None:
            spec = self.comm_spec(name)
            if spec.name != name:
                return self.comm(spec.name)
            record = self._sole(COMMS, name)
            loaded = _tried("comm", record, lambda: self._load_comm(spec), spec.install)
            record.state = "loaded"
            self._comms[name] = loaded
        return loaded

    @staticmethod
    def _load_comm(spec: CommSpec) -> Callable[[CommContext], Comm]:
        spec.probe()
        loaded = spec.load()
        if not callable(loaded):
            raise TypeError(
                f"load() of comm {spec.name!r} returned {type(loaded).__name__}, not a subclass of "
                "tensorbus.plugin.Comm"
            )
        return loaded

    def command(self, name: str) -> object:
        loaded = self._commands.get(name)
        if loaded is None:
            record = self._sole(COMMANDS, name)
            loaded = _tried("command", record, lambda: self._import(record))
            record.state = "loaded"
            self._commands[name] = loaded
        return loaded

    def overlays(self, backend_type: str, op: str | None = None) -> list[OverlaySpec]:
        mine = [s for s in self._overlays_of(backend_type) if op is None or op in s.ops]
        for first, second in combinations(mine, 2):
            shared = sorted({*first.ops} & {*second.ops}) if op is None else [op]
            if first.priority == second.priority and shared:
                raise RuntimeError(
                    f"the overlays {first.name!r} and {second.name!r} for {backend_type!r} have "
                    f"the same priority {first.priority} for {', '.join(shared)}: uninstall one, "
                    f"or leave it out with {metadata.VARIABLE}"
                )
        return mine

    def compilers(self, backend: Backend) -> list[Callable[..., Any]]:
        specs = [spec for spec in self._overlays_of(backend.name) if spec.graphs]
        found = [overlay.compile for spec in specs if (overlay := self.overlay(spec))]
        own = self.offered(backend, "compile")
        return found if own is None else [*found, own]

    def _overlays_of(self, backend_type: str) -> list[OverlaySpec]:
        loaded = self._load_overlays() if self._overlays is None else self._overlays
        mine = [spec for spec in loaded if spec.backend == backend_type]
        return sorted(mine, key=lambda spec: (-spec.priority, spec.name))

    # -- names -------------------------------------------------------------------------------
    def _names(self, group: str) -> list[str]:
        chosen = {r.name for r in self.list_records(group) if self._selection.admits(r)}
        return sorted(chosen)

    def _claims(self, group: str, name: str) -> list[Record]:
        return [r for r in self.list_records(group) if r.name == name and self._selection.admits(r)]

    def _sole(self, group: str, name: str) -> Record:
        """The one record of that name; RuntimeError where there is none, or more than one."""
        claims = self._claims(group, name)
        if not claims:
            raise RuntimeError(self._unknown(group, name))
        own, others = metadata.own_first(claims)
        if own is not None:
            for other in others:
                if other.state != "failed":
                    failures.left_out(failures.displace(own, other))
            return own
        if len(claims) > 1:
            owners = " and ".join(r.owner for r in claims)
            text = f"{name!r} of {group} is claimed by {len(claims)} distributions, {owners}: "
            if len({_value(r) for r in claims}) == 1:
                text += f"all hold the module {_value(claims[0])}, so their files are mixed; "
                raise RuntimeError(f"{text}uninstall all of them, then install one")
            raise RuntimeError(f"{text}uninstall all but one of them")
        return claims[0]

    def _aliases(self, group: str) -> Iterable[str]:
        if group == BACKENDS:
            return self._device_aliases.claims()
        return self.comm_aliases() if group == COMMS else ()

    def _unknown(self, group: str, name: str) -> str:
        known = sorted({*self._names(group), *self._aliases(group)})
        if any(r.name == name for r in self.list_records(group)):
            return (
                f"{name!r} of {group} is installed but left out by "
                f"{metadata.VARIABLE}={self._selection.text}: add it there, or unset the variable"
            )
        return failures.unknown(group, name, known)

    # -- loading -----------------------------------------------------------------------------
    def _load_backend(self, record: Record) -> Backend | None:
        spec = None
        try:
            spec = self._backend_spec(record)
            spec.probe()
            backend = spec.load()
            _check_loaded("backend", record.name, backend, Backend)
        except BaseException as e:
            failures.keep(record, e, failures.install_command(spec, e) if spec else "")
            return None
        record.state = "loaded"
        self._written_for[record.name] = spec.api
        registered.backend_loaded(backend)
        return backend

    def _backend_spec(self, record: Record) -> BackendSpec:
        return self._spec(record, "tensorbus_backend", BackendSpec)

    def _load_overlays(self) -> list[OverlaySpec]:
        loaded, problems = [], []
        for name in self._names(OVERLAYS):
            try:
                loaded.append(self._load_overlay(self._sole(OVERLAYS, name)))
            except RuntimeError as e:
                problems.append(str(e))
        # Kept before anything is said: where warnings are errors, the next question finds it.
        self._overlays = loaded
        for problem in problems:
            failures.left_out(f"an overlay is left out: {problem}")
        return loaded

    def _load_overlay(self, record: Record) -> OverlaySpec:
        try:
            spec = self._spec(record, "tensorbus_overlay", OverlaySpec)
        except BaseException as e:
            failures.keep(record, e)
            raise RuntimeError(failures.unusable("overlay", record)) from e
        record.state = "found" if spec.load else "loaded"
        return spec

    def probe_overlay(self, name: str) -> OverlaySpec:
        """Load one overlay wholly; RuntimeError where that can't be done."""
        record = self._sole(OVERLAYS, name)
        spec = self._load_overlay(record)
        try:
            self._open(spec)
        except BaseException as e:
            failures.keep(record, e, failures.install_command(spec, e))
            raise RuntimeError(failures.unusable("overlay", record)) from e
        return spec

    def overlay(self, spec: OverlaySpec) -> Overlay | None:
        for known, overlay in self._opened:
            if known is spec:
                return overlay
        overlay, problem = None, ""
        try:
            overlay = self._open(spec)
        except BaseException as e:
            record = self._sole(OVERLAYS, spec.name)
            failures.keep(record, e, failures.install_command(spec, e))
            problem = f"an overlay is left out: {failures.unusable('overlay', record)}"
        # Kept before anything is said: where warnings are errors, the next question finds it.
        self._opened.append((spec, overlay))
        if problem:
            failures.left_out(problem)
        return overlay

    def _open(self, spec: OverlaySpec) -> Overlay:
        if spec.kernel is not None:
            return _OneFunction(spec.kernel)
        spec.probe()
        overlay = spec.load(self.backend(spec.backend))  # type: ignore[misc]  # one of both is there
        _check_loaded("overlay", spec.name, overlay, Overlay)
        for record in self.list_records(OVERLAYS):
            if record.name == spec.name:
                record.state = "loaded"
        return overlay

    def _spec(self, record: Record, hook: str, kind: type[Spec]) -> Spec:
        """What the entry's hook returns, checked."""
        plugin = self._import(record)
        if not self._manager.is_registered(plugin):
            self._manager.register(plugin, name=f"{record.group}:{record.name}")
            try:
                self._manager.check_pending()
            except pluggy.PluginValidationError as e:
                # Otherwise the next plugin's check would trip over this one's misspelt hook.
                self._manager.unregister(plugin)
                known = [n for n in vars(hooks) if n.startswith(f"{hooks.PROJECT}_")]
                raise TypeError(f"{e}; the hooks are {', '.join(known)}") from e
        others = [p for p in self._manager.get_plugins() if p is not plugin]
        spec = self._manager.subset_hook_caller(hook, others)()
        if spec is None:
            raise TypeError(
                f"{_value(record)} has no hook {hook}: define a function of that name, "
                f"decorated with @tensorbus.plugin.hookimpl, that returns a {kind.__name__}"
            )
        if not isinstance(spec, kind):
            raise TypeError(
                f"{hook} of {_value(record)} returned {type(spec).__name__}, not {kind.__name__}"
            )
        if spec.name != record.name:
            raise ValueError(
                f"the entry point is called {record.name!r} but its {kind.__name__} says "
                f"{spec.name!r}: give both the same name"
            )
        if spec.api not in hooks.SUPPORTED_API:
            oldest, newest = hooks.SUPPORTED_API[0], hooks.SUPPORTED_API[-1]
            other = "tensorbus" if spec.api > newest else record.distribution
            raise RuntimeError(
                f"{record.owner} was written for version {spec.api} of the plugin contract; this "
                f"tensorbus supports {oldest} to {newest}: install a newer {other}"
            )
        return spec

    def _import(self, record: Record) -> Any:
        if record.entry_point is None:
            raise ImportError(f"{record.owner} declares no importable object for {record.name!r}")
        return record.entry_point.load()


def _check_loaded(kind: str, name: str, made: Any, wanted: type[Backend] | type[Overlay]) -> None:
    """TypeError or ValueError where ``load()`` of a plugin made something else."""
    if not isinstance(made, wanted):
        raise TypeError(
            f"load() of {kind} {name!r} returned {type(made).__name__}, not a "
            f"tensorbus.plugin.{wanted.__name__}"
        )
    if made.name != name:
        raise ValueError(
            f"load() of {kind} {name!r} returned one whose name is {made.name!r}: "
            f"give both the same name"
        )


def _value(record: Record) -> str:
    return record.entry_point.value if record.entry_point else record.name
