"""Ways of training that are built on the collectives."""

from tensorbus.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
