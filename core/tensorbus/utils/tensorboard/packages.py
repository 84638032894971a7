"""The package that knows TensorBoard's messages and files: ``tensorboard`` or ``tensorboardX``."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

_TENSORBOARD = {
    "event": "tensorboard.compat.proto.event_pb2",
    "summary": "tensorboard.compat.proto.summary_pb2",
    "tensor": "tensorboard.compat.proto.tensor_pb2",
    "shape": "tensorboard.compat.proto.tensor_shape_pb2",
    "graph": "tensorboard.compat.proto.graph_pb2",
    "node": "tensorboard.compat.proto.node_def_pb2",
    "attr": "tensorboard.compat.proto.attr_value_pb2",
    "layout": "tensorboard.plugins.custom_scalar.layout_pb2",
    "pr_curve": "tensorboard.plugins.pr_curve.plugin_data_pb2",
    "text": "tensorboard.plugins.text.plugin_data_pb2",
    "mesh": "tensorboard.plugins.mesh.plugin_data_pb2",
    "hparams_api": "tensorboard.plugins.hparams.api_pb2",
    "hparams": "tensorboard.plugins.hparams.plugin_data_pb2",
    "records": "tensorboard.summary.writer.record_writer",
    "values": "google.protobuf.struct_pb2",
}
_TENSORBOARD_X = {
    "event": "tensorboardX.proto.event_pb2",
    "summary": "tensorboardX.proto.summary_pb2",
    "tensor": "tensorboardX.proto.tensor_pb2",
    "shape": "tensorboardX.proto.tensor_shape_pb2",
    "graph": "tensorboardX.proto.graph_pb2",
    "node": "tensorboardX.proto.node_def_pb2",
    "attr": "tensorboardX.proto.attr_value_pb2",
    "layout": "tensorboardX.proto.layout_pb2",
    "pr_curve": "tensorboardX.proto.plugin_pr_curve_pb2",
    "text": "tensorboardX.proto.plugin_text_pb2",
    "mesh": "tensorboardX.proto.plugin_mesh_pb2",
    "hparams_api": "tensorboardX.proto.api_pb2",
    "hparams": "tensorboardX.proto.plugin_hparams_pb2",
    "records": "tensorboardX.record_writer",
    "values": "google.protobuf.struct_pb2",
}


_EVENT_FILES = {
    "tensorboard": "tensorboard.summary.writer.event_file_writer",
    "tensorboardX": "tensorbus.utils.tensorboard.event_files",
}


def _found() -> tuple[str, dict[str, ModuleType]]:
    failures: list[ImportError] = []
    for package, table in (("tensorboard", _TENSORBOARD), ("tensorboardX", _TENSORBOARD_X)):
        try:
            return package, {key: importlib.import_module(path) for key, path in table.items()}
        except ImportError as error:
            failures.append(error)
    raise ModuleNotFoundError(
        "utils.tensorboard needs the package tensorboard or tensorboardX, and neither can be "
        f"imported ({'; '.join(map(str, failures))}): pip install 'tensorbus[tensorboard]'",
        name="tensorboard",
    ) from failures[0]


_package, _modules = _found()

masked_crc32c: Any = _modules["records"].masked_crc32c
"""The checksum of records."""


def event_file_writer(*options: Any) -> Any:
    """A writer of one file of events: the package's own, or ours."""
    return importlib.import_module(_EVENT_FILES[_package]).EventFileWriter(*options)


def message(module: str, name: str) -> Any:
    """A class of messages, such as ``message("summary", "Summary")``."""
    return getattr(_modules[module], name)


def number_of(enum: str, name: str) -> int:
    """The number of one of the named values in the interface of hyperparameters."""
    return int(message("hparams_api", enum).Value(name))


Summary: Any = message("summary", "Summary")
TensorProto: Any = message("tensor", "TensorProto")


def shape_of(*sizes: int) -> Any:
    """The message for a shape."""
    shape = message("shape", "TensorShapeProto")
    return shape(dim=[shape.Dim(size=size) for size in sizes])


def for_plugin(plugin: str, content: bytes = b"", **more: str | None) -> Any:
    """What a value says of itself: the plugin of TensorBoard that shows it, and for that plugin."""
    metadata = message("summary", "SummaryMetadata")
    return metadata(plugin_data=metadata.PluginData(plugin_name=plugin, content=content), **more)


def one_value(tag: str, **fields: Any) -> Any:
    """The ``Summary`` of one value."""
    return Summary(value=[Summary.Value(tag=tag, **fields)])
