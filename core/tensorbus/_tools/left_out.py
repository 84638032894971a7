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
        "They keep two of four elements for kernels of one maker's devices.",
        {
            "sparse": "SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT "
            "SparseSemiStructuredTensorCUTLASS to_sparse_semi_structured",
        },
    ),
    (
        "TorchScript, tracing and export are not there yet, nor the names of their parts.",
        {
            "torch": "AVG AggregationType DispatchKey SUM ScriptClass ScriptFunction fork "
            "import_ir_module import_ir_module_from_buffer merge_type_from_type_comment parse_ir "
            "parse_schema parse_type_comment unify_type_list wait",
        },
    ),
    (
        "They speak of PyTorch's C++ library and of how it was built, and nothing stands for it "
        "here.",
        {
            "torch": "compiled_with_cxx11_abi",
            "Tensor": "__dlpack_c_exchange_api__ to_mkldnn",
            "autograd": "NestedIOFunction",
            "utils": "ThroughputBenchmark cmake_prefix_path "
            "generate_methods_for_privateuse1_backend get_cpp_backtrace rename_privateuse1_backend",
        },
    ),
    (
        "It groups what graph compilers capture, and nothing is compiled here.",
        {"utils.checkpoint": "GraphExecGroup"},
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
        "Graphs, allocators and other parts of NVIDIA's runtime that no backend offers.",
        {
            "cuda": "CUDAGraph CUDAPluggableAllocator GreenContext MemPool "
            "caching_allocator_alloc caching_allocator_delete caching_allocator_disabled "
            "caching_allocator_enable change_current_allocator check_error clock_rate "
            "current_blas_handle current_solver_handle device_memory_used get_allocator_backend "
            "get_per_process_memory_fraction graph graph_pool_handle host_memory_stats "
            "host_memory_stats_as_nested_dict list_gpu_processes make_graphed_callables "
            "memory_snapshot memory_usage power_draw reset_accumulated_host_memory_stats "
            "reset_peak_host_memory_stats set_per_process_memory_fraction temperature "
            "use_mem_pool utilization",
            "accelerator": "Graph",
            "autograd.graph": "region_activation_memory_budget set_override_stale_capture_stream",
        },
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
