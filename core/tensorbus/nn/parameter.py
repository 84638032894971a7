"""Parameters and buffers: tensors that a module keeps."""

from tensorbus._base.public_place import show_in as _show_in
from tensorbus.op_engine.parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter"]

_show_in(__name__, [("Buffer", Buffer), ("Parameter", Parameter)])
