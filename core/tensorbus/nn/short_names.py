"""``F`` as PyTorch's modules import it: programs take it from ``torch.functional``."""

from tensorbus.nn import functional as F

__all__ = ["F"]
