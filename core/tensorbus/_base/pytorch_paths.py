"""The module paths of PyTorch that are no file here: for each, the rooms that have its names.

A path is below ``torch``, a room below ``tensorbus``; the room "." is the package itself. A path
without rooms can be imported, and has nothing in it. What PyTorch keeps under a path of our own
needs no line.
"""

PATHS: dict[str, str] = {
    "_C._nn": "ops.tensor.parsed_to nn.functional",
    "_custom_ops": "library",
    "_dynamo.config": "",
    "_dynamo.eval_frame": "_dynamo",
    "_dynamo.decorators": "_dynamo",
    "_dynamo._trace_wrapped_higher_order_op": "_dynamo",
    "_dynamo.exc": "_dynamo",
    "_dynamo.utils": "_dynamo",
    "_jit_internal": "jit jit.older_names",
    "_linalg_utils": "linalg .",
    "_lowrank": "linalg .",
    "_ops": "op_engine.op_objects",
    "_subclasses.fake_tensor": "_dynamo",
    "_tensor_str": "ops.tensor.printing",
    "_functorch.apis": "func",
    "_functorch.eager_transforms": "func",
    "_functorch.functional_call": "func",
    "_functorch.make_functional": "func.functorch",
    "_functorch.vmap": "func",
    "_utils": "serialization.rebuild utils.parts_of_utils",
    "_vmap_internals": "func",
    "_VF": ". nn.torch_functions",
    "accelerator.graphs": "accelerator",
    "accelerator.memory": "accelerator",
    "autograd.gradcheck": "autograd.checks autograd utils.parts_of_utils",
    "autograd.profiler_legacy": "autograd.profiler",
    "autograd.profiler_util": "profiler.events profiler.event_list profiler.units profiler",
    "autograd._functions": "autograd",
    "backends.cudnn.rnn": "",
    "backends.miopen": "",
    "backends.xnnpack": "",
    "cpu.amp.autocast_mode": "cpu.amp",
    "cpu.amp.grad_scaler": "cpu.amp",
    "cuda.amp.autocast_mode": "cuda.amp",
    "cuda.amp.common": "cuda.amp amp",
    "cuda.amp.grad_scaler": "cuda.amp amp.grad_scaler",
    "cuda._utils": "utils.parts_of_utils",
    "cuda.comm": "nn.parallel",
    "cuda.graphs": "cuda",
    "cuda.random": "cuda",
    "distributed._tensor": "distributed.tensor",
    "distributed.autograd": "",
    "distributed.c10d_logger": "",
    "distributed.checkpoint": "",
    "distributed.collective_utils": "distributed",
    "distributed.config": "",
    "distributed.constants": "distributed",
    "distributed.distributed_c10d": "distributed",
    "distributed.logging_handlers": "",
    "distributed.optim.optimizer": "distributed.optim",
    "distributed.optim.utils": "distributed.optim",
    "distributed.remote_device": "",
    "distributed.nn.api": "distributed.nn",
    "distributed.nn.api.remote_module": "distributed.nn",
    "distributed.nn.jit": "",
    "distributed.utils": "distributed",
    "distributed.tensor.placement_types": "distributed.tensor",
    "distributed.elastic.multiprocessing.api": "distributed.elastic.multiprocessing",
    **dict.fromkeys(
        (f"distributed.elastic.multiprocessing.errors.{n}" for n in ("error_handler", "handlers")),
        "distributed.elastic.multiprocessing.errors",
    ),
    "distributed.elastic.multiprocessing.redirects": "distributed.elastic.multiprocessing",
    "distributed.elastic.multiprocessing.tail_log": "distributed.elastic.multiprocessing",
    "functional": ". nn.short_names",
    "fx.experimental.proxy_tensor": "fx.symbols",
    "fx.experimental.symbolic_shapes": "fx.symbols",
    "jit.frontend": "jit",
    "jit.generate_bytecode": "",
    "jit.mobile": "",
    "jit.supported_ops": "",
    "jit.unsupported_tensor_ops": "",
    "multiprocessing.spawn": "multiprocessing.spawning multiprocessing",
    "nn.attention.experimental": "",
    "nn.backends": "",
    "nn.modules.linear_cross_entropy": "nn.modules.sequence_losses",
    "nn.modules.linear_cross_entropy_options": "nn.functional.linear_classes",
    "nn.parallel.comm": "nn.parallel",
    "onnx.errors": "onnx",
    "onnx.operators": "onnx",
    "onnx.ops": "",
    "onnx.symbolic_helper": "onnx",
    "onnx.testing": "onnx",
    "onnx.utils": "onnx",
    "onnx.verification": "onnx",
    "profiler.itt": "",
    "profiler.profiler": "profiler",
    "profiler.python_tracer": "",
    "signal.windows.windows": "signal.windows",
    "utils._foreach_utils": "ops.tensor.foreach",
    "utils._contextlib": "autograd.grad_mode",
    "utils.data.backward_compatibility": "utils.data",
    "utils.data._utils": "utils.data",
    "utils.data._utils.collate": "utils.data.collate",
    "utils.data._utils.worker": "utils.data.worker",
    "utils.data.graph": "utils.data",
    **dict.fromkeys(
        (
            f"utils.data.datapipes.{name}"
            for name in "dataframe dataframe.dataframe_wrapper dataframe.dataframes "
            "dataframe.datapipes dataframe.structures gen_pyi utils utils.decoder "
            "utils.snapshot".split()
        ),
        "",
    ),
    "utils.data.datapipes.utils.common": "utils.data.datapipes",
    "utils.tensorboard._convert_np": "utils.tensorboard.arrays",
    "utils.tensorboard._utils": "utils.tensorboard.images",
    **dict.fromkeys(
        (
            f"utils.data.datapipes.iter.{name}"
            for name in "callable combinatorics combining filelister fileopener grouping "
            "routeddecoder selecting sharding streamreader utils".split()
        ),
        "utils.data.datapipes.iter",
    ),
    **dict.fromkeys(
        (
            f"utils.data.datapipes.map.{name}"
            for name in "callable combinatorics combining grouping utils".split()
        ),
        "utils.data.datapipes.map",
    ),
}

FUNCTIONS = frozenset(
    "autograd.gradcheck multiprocessing.spawn nn.parallel.data_parallel "
    "nn.parallel.parallel_apply nn.parallel.replicate nn.utils.spectral_norm "
    "nn.utils.weight_norm".split()
)
"""The paths that a function has too: as an attribute of the room around it, it is the function."""
