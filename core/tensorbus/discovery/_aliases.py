"""Further names of devices and of comms, which their specs declare."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tensorbus.discovery import failures, metadata
from tensorbus.discovery.metadata import BACKENDS, COMMS, Record
from tensorbus.plugin.hooks import BackendSpec, CommSpec


class DeviceAliases:
    """The device type that each further name means; specs are read when first asked."""

    def __init__(
        self, records: Callable[[], Iterable[Record]], spec: Callable[[Record], BackendSpec]
    ):
        self._records, self._spec = records, spec
        self._claims: dict[str, list[Record]] | None = None
        self._chosen: dict[str, Record] = {}

    def claims(self) -> dict[str, list[Record]]:
        """The plugins that declare each further name."""
        if self._claims is None:
            found: dict[str, list[Record]] = {}
            for record in self._records():
                try:
                    spec = self._spec(record)
                except KeyboardInterrupt:
                    raise
                except BaseException:
                    continue  # broken, whatever it raises: whoever names it hears why
                for alias in spec.aliases:
                    found.setdefault(alias, []).append(record)
            self._claims = found
        return self._claims

    def find(self, alias: str) -> str | None:
        """The device type of that further name; None where no plugin declares it.

        Of several that do, one of tensorbus' own has it; RuntimeError where none is.
        """
        if alias not in self._chosen:
            claims = self.claims().get(alias, [])
            if not claims:
                return None
            own, others = metadata.own_first(claims)
            if own is None and len(claims) > 1:
                claimed = " and ".join(f"{r.name!r} of {r.owner}" for r in claims)
                raise RuntimeError(
                    f"{alias!r} of {BACKENDS} is another name of {len(claims)} device types, "
                    f"{claimed}: give the one you mean by its own name, or uninstall all but one "
                    f"of them"
                )
            self._chosen[alias] = chosen = own or claims[0]
            for other in others:
                if other is not chosen:
                    failures.left_out(
                        f"{alias!r} of {BACKENDS} is another name of tensorbus' own "
                        f"{chosen.name!r}, but {other.owner} claims it too for {other.name!r}, "
                        f"which keeps its own name only"
                    )
        return self._chosen[alias].name


def comm_of(alias: str, specs: list[CommSpec]) -> str:
    """The own name of the comm that has an alias; *specs* declare it, highest priority first."""
    if len(specs) > 1 and specs[0].priority == specs[1].priority:
        raise RuntimeError(
            f"{alias!r} is another name of both {specs[0].name!r} and {specs[1].name!r} in "
            f"{COMMS}, which have the same priority: give the one you mean by its own name"
        )
    return specs[0].name if specs else alias
