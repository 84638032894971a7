"""Tables of given events: a program that runs with PyTorch's classes and with ours."""

from __future__ import annotations

from typing import Any

SOURCES = ["/some/folder/program.py(12): forward", "/some/folder/" + "x" * 90 + ".py(3): <module>"]


def events(profiler: Any, *, stacks: bool) -> list[Any]:
    """Five events of which two ran inside another."""

    def event(id: int, name: str, start: float, end: float, flops: int = 0, **more: Any) -> Any:
        more = {"stack": [], "input_shapes": [], **more}
        if not stacks:
            more["stack"] = []
        return profiler.FunctionEvent(id, name, 1, start, end, flops=flops, **more)

    long = "aten::a_very_long_name_" * 4
    product = event(
        1, "aten::mm", 0.0, 1500.5, 48, input_shapes=[[2, 3], [3, 4]], cpu_memory_usage=32
    )
    first = event(
        2, "aten::add", 1600.0, 1610.25, input_shapes=[[2, 4], [4]], cpu_memory_usage=2048
    )
    second = event(
        4, "aten::add", 1700.0, 1710.25, input_shapes=[[8, 4], [4]], cpu_memory_usage=5 * 1024**3,
        stack=["p.py(1): f"],
    )  # fmt: skip
    last = event(
        3, long, 2000.0, 3.5e6, 2_000_000, cpu_memory_usage=-3 * 1024**2, stack=list(SOURCES)
    )
    block = event(5, "block", 1550.0, 1800.0)
    for child in (first, second):
        block.append_cpu_child(child)
        child.set_cpu_parent(block)
    return [product, first, last, second, block]


OPTIONS: list[tuple[bool, dict[str, Any], dict[str, Any]]] = [
    (False, {}, {}),
    (True, {}, {}),
    (False, {"profile_memory": True}, {"sort_by": "cpu_time_total", "row_limit": 3}),
    (
        False,
        {"profile_memory": True, "with_flops": True},
        {"sort_by": "self_cpu_memory_usage", "time_unit": "us"},
    ),
    (
        True,
        {},
        {
            "header": "A title", "top_level_events_only": True, "max_name_column_width": 20,
            "time_unit": "ms", "max_src_column_width": 30, "max_shapes_column_width": 12,
        },
    ),
]  # fmt: skip


def tables(profiler: Any) -> str:
    """The tables of all options, of the events and of three averages of them."""
    texts = []
    for stacks, recorded, shown in OPTIONS:
        made = profiler.EventList(
            events(profiler, stacks=stacks),
            use_device=None,
            profile_memory=recorded.get("profile_memory", False),
            with_flops=recorded.get("with_flops", False),
        )
        made._tree_built = True
        texts += [
            made.table(**shown),
            made.key_averages().table(**shown),
            made.key_averages(group_by_input_shapes=True, group_by_stack_n=1).table(**shown),
            made.key_averages(True).table(sort_by="count"),
        ]
    return "\n".join(texts)
