"""Parameters and buffers: tensors that a module keeps."""

from tensorbus._parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter"]
