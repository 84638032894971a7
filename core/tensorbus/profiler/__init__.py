"""What a program spends its time and memory on: ``profile`` and what belongs to it."""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.public_place import show_in as _show_in
from tensorbus.profiler.activities import (
    DeviceType,
    ProfilerActivity,
    kineto_available,
    supported_activities,
)
from tensorbus.profiler.labels import record_function
from tensorbus.profiler.profiles import profile, tensorboard_trace_handler
from tensorbus.profiler.schedules import ProfilerAction, schedule

__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

_show_in(__name__, [(n, globals()[n]) for n in __all__])

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
