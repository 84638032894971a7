"""Parameters and buffers: tensors that a module keeps."""

from tensorbus.op_engine.parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter"]
