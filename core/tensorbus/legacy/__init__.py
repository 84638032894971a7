"""``torch.legacy``: Lua's modules and optimisers, as PyTorch 0.1 to 0.3 had them. They warn."""

from tensorbus.legacy import nn, optim

__all__ = ["nn", "optim"]
