"""What libraries import of PyTorch's and tensorbus lacks: importing works, using it is refused.

A library names FullyShardedDataParallel at its top, to ask ``isinstance``, and works without it.
Each name of the table is a class without instances: ``isinstance`` says False, a call raises.
"""

from __future__ import annotations

import functools
from typing import Any, NoReturn

_SHARDING = (
    "each rank keeps a whole copy of the model: use torch.nn.parallel.DistributedDataParallel"
)
_FILES = "write the state_dict with torch.save on rank 0, and read it with torch.load on each"
_QUANTIZED = "compute in float32, float16 or bfloat16"
_EXPORTED = "load the model's state_dict into the same model of PyTorch, and export it there"
_COMPILED = "nothing is compiled: call the function or the module as it is"
_PIPELINES = "send activations between ranks with torch.distributed.send and recv"

REFUSED: dict[str, tuple[str, str]] = {
    "_C": (
        "DeviceObjType Graph Node PyTorchFileReader PyTorchFileWriter ScriptModule TensorType "
        "Value",
        "it belongs to PyTorch's compiled library. torch.save and torch.load write and read files, "
        "torch.fx.symbolic_trace gives a graph",
    ),
    "_functorch.compilers": ("ts_compile", _COMPILED),
    "_subclasses.fake_tensor": (
        "FakeTensor FakeTensorMode",
        "tensors of the device meta have shapes and no values",
    ),
    "_inductor": ("cudagraph_mark_step_begin list_mode_options list_options", _COMPILED),
    "_inductor.cpu_vec_isa": ("pick_vec_isa", _COMPILED),
    "_inductor.runtime.cache_dir_utils": ("cache_dir", _COMPILED),
    "ao.nn.quantized": ("FloatFunctional Linear Conv2d", _QUANTIZED),
    "ao.quantization": (
        "DeQuantStub FakeQuantize FakeQuantizeBase ObserverBase QConfig QuantStub convert "
        "default_observer default_per_channel_weight_observer default_weight_observer "
        "fuse_modules fuse_modules_qat get_default_qat_qconfig get_default_qconfig prepare "
        "prepare_qat quantize_dynamic",
        _QUANTIZED,
    ),
    "distributed._composable.fsdp": ("FSDPModule fully_shard", _SHARDING),
    "distributed._functional_collectives": (
        "all_gather_tensor all_reduce all_to_all_single_autograd reduce_scatter_tensor wait_tensor",
        "use the collectives of torch.distributed and torch.distributed.nn",
    ),
    "distributed._tensor.experimental": ("implicit_replication", _SHARDING),
    "distributed.algorithms._checkpoint.checkpoint_wrapper": (
        "CheckpointImpl CheckpointWrapper apply_activation_checkpointing checkpoint_wrapper "
        "offload_wrapper",
        "call torch.utils.checkpoint.checkpoint in the module's forward",
    ),
    "distributed.checkpoint": (
        "FileSystemReader FileSystemWriter async_save load load_state_dict save save_state_dict",
        _FILES,
    ),
    "distributed.checkpoint._consolidate_hf_safetensors": ("consolidate_safetensors_files", _FILES),
    "distributed.checkpoint.default_planner": ("DefaultLoadPlanner DefaultSavePlanner", _FILES),
    "distributed.checkpoint.format_utils": (
        "_EmptyStateDictLoadPlanner _load_state_dict dcp_to_torch_save torch_save_to_dcp",
        _FILES,
    ),
    "distributed.checkpoint.hf_storage": (
        "HuggingFaceStorageReader HuggingFaceStorageWriter",
        _FILES,
    ),
    "distributed.checkpoint.optimizer": ("load_sharded_optimizer_state_dict", _FILES),
    "distributed.checkpoint.state_dict": (
        "StateDictOptions get_model_state_dict get_optimizer_state_dict get_state_dict "
        "set_model_state_dict set_optimizer_state_dict set_state_dict",
        _FILES,
    ),
    "distributed.checkpoint.state_dict_loader": ("_load_state_dict load", _FILES),
    "distributed.fsdp": (
        "BackwardPrefetch CPUOffload CPUOffloadPolicy FSDPModule FullOptimStateDictConfig "
        "FullStateDictConfig FullyShardedDataParallel LocalStateDictConfig MixedPrecision "
        "MixedPrecisionPolicy OffloadPolicy OptimStateKeyType ShardedOptimStateDictConfig "
        "ShardedStateDictConfig ShardingStrategy StateDictType fully_shard "
        "register_fsdp_forward_method",
        _SHARDING,
    ),
    "distributed.fsdp.api": (
        "FullOptimStateDictConfig FullStateDictConfig ShardedOptimStateDictConfig "
        "ShardedStateDictConfig StateDictType",
        _SHARDING,
    ),
    "distributed.fsdp.fully_sharded_data_parallel": (
        "CPUOffload FullOptimStateDictConfig FullStateDictConfig FullyShardedDataParallel "
        "MixedPrecision ShardedOptimStateDictConfig ShardedStateDictConfig ShardingStrategy "
        "StateDictType",
        _SHARDING,
    ),
    "distributed.fsdp.sharded_grad_scaler": ("ShardedGradScaler", _SHARDING),
    "distributed.fsdp.wrap": (
        "ModuleWrapPolicy _or_policy always_wrap_policy enable_wrap lambda_auto_wrap_policy "
        "size_based_auto_wrap_policy transformer_auto_wrap_policy wrap",
        _SHARDING,
    ),
    "distributed.pipelining": ("ScheduleGPipe SplitPoint pipe_split pipeline", _PIPELINES),
    "distributed.tensor._utils": ("compute_local_shape_and_global_offset", _SHARDING),
    "distributed.tensor.experimental": ("context_parallel implicit_replication", _SHARDING),
    "distributed.tensor.experimental._attention": ("context_parallel set_rotate_method", _SHARDING),
    "distributed.tensor.parallel": (
        "ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleOutput RowwiseParallel "
        "SequenceParallel loss_parallel parallelize_module",
        _SHARDING,
    ),
    "distributed.rpc": (
        "TensorPipeRpcBackendOptions init_rpc remote rpc_async rpc_sync shutdown",
        "send messages with the collectives of torch.distributed",
    ),
    "distributed.tensor.placement_types": ("_StridedShard", _SHARDING),
    "export": ("Dim ExportedProgram export load save", _EXPORTED),
    "fx.experimental.proxy_tensor": ("make_fx", "trace with torch.fx.symbolic_trace"),
    "fx.passes.shape_prop": ("ShapeProp", "run the graph with torch.fx.Interpreter"),
    "nn.quantized": ("FloatFunctional Linear Conv2d", _QUANTIZED),
    "onnx.symbolic_helper": ("cast_pytorch_to_onnx", _EXPORTED),
    **{
        f"onnx.symbolic_opset{version}": ("dropout masked_fill select softmax squeeze", _EXPORTED)
        for version in range(9, 21)
    },
    "quantization": (
        "DeQuantStub FakeQuantize FakeQuantizeBase ObserverBase QConfig QuantStub convert "
        "fuse_modules get_default_qconfig prepare prepare_qat quantize_dynamic",
        _QUANTIZED,
    ),
    "utils.cpp_extension": (
        "BuildExtension CUDAExtension CppExtension load load_inline",
        "a hardware is a plugin: docs/devices.md says how one is written",
    ),
}
"""For each path below ``torch`` the names that can be imported, and what to do without them."""


class _Refused(type):
    """The class of these names."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(_said(cls))

    def __getattr__(cls, name: str) -> NoReturn:
        raise AttributeError(f"{_said(cls)} (asked for {name})", name=name, obj=cls)


def _said(cls: type) -> str:
    named = next(c for c in cls.__mro__ if c.__module__.startswith("tensorbus."))
    path = named.__module__.removeprefix("tensorbus.")
    return f"torch.{path}.{named.__qualname__} is not supported: {REFUSED[path][1]}"


@functools.cache
def refused(path: str, name: str) -> type | None:
    """The class that stands for a name of the table, or None where that has none."""
    if path not in REFUSED or name not in REFUSED[path][0].split():
        return None
    made = _Refused(name, (), {"__module__": f"tensorbus.{path}"})
    made.__doc__ = _said(made)
    return made


def is_refused(path: str) -> bool:
    """Whether nothing but such names lies at a path below ``torch``."""
    return any(f"{known}.".startswith(f"{path}.") for known in REFUSED)
