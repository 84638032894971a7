"""``torch.utils.collect_env``: what a report of a fault needs, as ``tensorbus doctor`` has it."""

from __future__ import annotations

from tensorbus.cli import devices, doctor

__all__ = ["get_pretty_env_info", "main"]


def get_pretty_env_info() -> str:
    """Versions, platform, BLAS, environment variables and devices, as text.

    >>> from tensorbus.utils import collect_env
    >>> collect_env.get_pretty_env_info().splitlines()[0]
    'versions:'
    """
    return "\n".join(doctor.report(devices.TIMEOUT))


def main() -> None:
    """Print it: ``python -m tensorbus.utils.collect_env``."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
