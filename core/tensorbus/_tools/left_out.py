"""Why names of PyTorch are absent: for ``docs/coverage.md``. Those not named here come later."""

from __future__ import annotations

LEFT_OUT: tuple[tuple[str, dict[str, str]], ...] = (
    (
        "Quantised and nested tensors are not there yet, nor what makes or converts them.",
        {
            "torch": "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine "
            "quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic",
            "Tensor": "int_repr to_padded_tensor",
        },
    ),
    (
        "TorchScript, tracing and export are not there yet, nor the names of their parts.",
        {
            "torch": "ScriptClass import_ir_module import_ir_module_from_buffer "
            "merge_type_from_type_comment parse_ir parse_type_comment unify_type_list",
            "nn.functional": "boolean_dispatch",
            "onnx": "ExportableModule InputObserver ONNXProgram",
        },
    ),
    (
        "They speak of PyTorch's C++ library and of how it was built, and nothing stands for it "
        "here.",
        {
            "Tensor": "__dlpack_c_exchange_api__ to_mkldnn",
            "autograd": "NestedIOFunction",
            "utils": "ThroughputBenchmark cmake_prefix_path "
            "generate_methods_for_privateuse1_backend get_cpp_backtrace rename_privateuse1_backend",
        },
    ),
    (
        "It writes the graphs of PyTorch's own dispatcher; `profiler.profile` exports traces.",
        {"profiler": "ExecutionTraceObserver"},
    ),
    (
        "They hand Triton kernels to a compiler, of which there is none here; `custom_op` makes an "
        "op of a function that launches one.",
        {"library": "triton_op wrap_triton"},
    ),
    (
        "It indexes by objects that stand for dimensions, of which there are none here.",
        {"Tensor": "index"},
    ),
    (
        "They name devices of one maker; a plugin's device is reached by `to` and its type.",
        {"Tensor": "ipu mtia xpu"},
    ),
    (
        "It makes a group of the ranks that are left of one whose collectives were cut off, which "
        "one maker's comm can: `new_group` makes a group of any ranks.",
        {"distributed": "shrink_group"},
    ),
)
"""Reasons, each with the names that it holds for, namespace by namespace."""


def reasons() -> dict[tuple[str, str], str]:
    """The reason of each name that has one, by namespace and name."""
    return {
        (space, name): reason
        for reason, spaces in LEFT_OUT
        for space, names in spaces.items()
        for name in names.split()
    }
