"""What programs use of PyTorch's module of this name: how overriding is turned off."""

from tensorbus.op_engine.function_modes import DisableTorchFunction
from tensorbus.op_engine.override import DisableTorchFunctionSubclass
from tensorbus.op_engine.override import disabled_torch_function as _disabled_torch_function_impl

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "_disabled_torch_function_impl"]
