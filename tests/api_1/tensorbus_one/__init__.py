"""The device "one" for tensorbus.

tensorbus imports this module to read the spec; the vendor's driver is imported by the functions.
"""

from tensorbus.plugin import Backend, BackendSpec, hookimpl


def probe() -> None:
    """Raise, with a sentence for the user, where the driver or the device is missing."""


def load() -> Backend:
    """Import what is needed and return the backend."""
    from tensorbus_one.backend import OneBackend

    return OneBackend()


@hookimpl
def tensorbus_backend() -> BackendSpec:
    """What tensorbus knows of the device before it is used."""
    return BackendSpec(
        name="one",
        load=load,
        probe=probe,
        api=1,  # the version of the contract this was written for, not the newest
        install="pip install tensorbus-one",
    )
