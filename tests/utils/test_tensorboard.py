"""What a ``SummaryWriter`` writes, read with TensorBoard's own reader, is what PyTorch's writes."""

from __future__ import annotations

import importlib
import io
import json
import subprocess
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorbus

pytest.importorskip("tensorboard", reason="reads event files (extra `test`)")

from google.protobuf import json_format, text_format
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from tensorboard.util import tensor_util
from tests.utils.tensorboard_cases import CASES, REFUSED

from tensorbus.utils.tensorboard import FileWriter, RecordWriter, SummaryWriter, summary
from tensorbus.utils.tensorboard.arrays import make_np
from tensorbus.utils.tensorboard.graphs import graph


def events(folder: Path) -> list[Event]:
    """Those of all files of one folder, in order."""
    files = sorted(folder.glob("events.out.tfevents.*"))
    return [Event.FromString(raw) for file in files for raw in RawEventFileLoader(str(file)).Load()]


def told(folder: Path) -> list[Any]:
    """Runs below a folder and what their events say, without the time; pictures as pixels."""
    out: list[Any] = []
    for path in sorted({file.parent for file in folder.rglob("events.out.tfevents.*")}):
        for event in events(path):
            for value in event.summary.value:
                said = json_format.MessageToDict(value)
                if "image" in said:
                    with Image.open(io.BytesIO(value.image.encoded_image_string)) as picture:
                        said["image"]["encodedImageString"] = np.asarray(picture).tolist()
                content = value.metadata.plugin_data.content
                if value.metadata.plugin_data.plugin_name == "hparams":
                    read = HParamsPluginData.FromString(content)
                    text = json_format.MessageToJson(read, sort_keys=True)  # maps have no order
                    said["metadata"] = json.loads(text)
                if value.metadata.plugin_data.plugin_name == "mesh":
                    read = MeshPluginData.FromString(content)
                    said["metadata"] = json_format.MessageToDict(read)
                out.append([path.relative_to(folder).as_posix(), event.step, said])
    return out


@pytest.mark.parametrize("name", CASES)
def test_the_events_are_pytorchs(name: str, oracle: Any, tmp_path: Path) -> None:
    def program(library: Any) -> Any:
        rooms = importlib.import_module(f"{library.__name__}.utils.tensorboard")
        folder = tmp_path / library.__name__
        with rooms.SummaryWriter(folder) as writer:
            CASES[name](library, writer)
        return told(folder)

    ours = program(tensorbus)
    assert ours and ours == oracle(program)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_what_pytorch_refuses(name: str, oracle: Any, tmp_path: Path) -> None:
    def program(library: Any) -> Any:
        rooms = importlib.import_module(f"{library.__name__}.utils.tensorboard")
        with rooms.SummaryWriter(tmp_path / library.__name__) as writer:
            try:
                REFUSED[name](library, writer)
            except Exception as error:
                text = " ".join(str(error).replace("torch.Size", "").split())
                return type(error).__name__, text.replace("([", "(").replace("])", ")")

    ours = program(tensorbus)
    assert ours is not None and ours == oracle(program)


def test_a_picture_of_matplotlib(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="draws figures (extra `demo`)").use("agg")
    from matplotlib import pyplot

    def figure(colour: str) -> Any:
        made = pyplot.figure(figsize=(1, 1), dpi=10, facecolor=colour)
        return made

    with SummaryWriter(tmp_path) as writer:
        writer.add_figure("one", figure("red"), 1)
        writer.add_figure("two", [figure("red"), figure("blue")], 1)
    assert not pyplot.get_fignums()
    one, two = (said["image"] for _, _, said in told(tmp_path))
    assert (np.asarray(one["encodedImageString"]) == [255, 0, 0]).all()
    pixels = np.asarray(two["encodedImageString"])
    assert pixels.shape == (10, 20, 3)
    assert (pixels[:, :10] == [255, 0, 0]).all() and (pixels[:, 10:] == [0, 0, 255]).all()


def test_videos_are_animated_pictures(tmp_path: Path) -> None:
    film = tensorbus.zeros(3, 4, 3, 6, 5)
    for frame in range(4):
        film[1, frame, 0] = frame / 3  # the second film grows red
    with SummaryWriter(tmp_path) as writer:
        writer.add_video("film", film, fps=5)
    (_, event) = events(tmp_path)
    with Image.open(io.BytesIO(event.summary.value[0].image.encoded_image_string)) as picture:
        assert (picture.n_frames, picture.size) == (4, (20, 6))  # four places in a row
        assert picture.info["duration"] == 200
        for frame in range(4):
            picture.seek(frame)
            pixels = np.asarray(picture.convert("RGB"))
            assert (pixels[:, 5:10, 0] == round(frame * 85)).all()
            assert not pixels[:, 10:].any() and not pixels[:, :5].any()


def test_a_sound_holds_its_samples(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.warns(UserWarning, match="auto clipped"):
        writer.add_audio("s", tensorbus.tensor([0.5, -0.25, 2.0]), sample_rate=100)
    (_, event) = events(tmp_path)
    with wave.open(io.BytesIO(event.summary.value[0].audio.encoded_audio_string)) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getnframes()) == (100, 1, 3)
        assert np.frombuffer(sound.readframes(3), "<i2").tolist() == [16383, -8191, 32767]


@pytest.mark.parametrize(
    "dtype", "float16 bfloat16 float32 float64 uint8 int8 int16 int32 int64 bool".split()
)
def test_tensorboard_gives_tensors_back(dtype: str, tmp_path: Path) -> None:
    x = tensorbus.tensor([[0, 1], [2, 3]]).to(getattr(tensorbus, dtype))
    with SummaryWriter(tmp_path) as writer:
        writer.add_tensor("x", x)
    (_, event) = events(tmp_path)
    proto = event.summary.value[0].tensor
    read = tensor_util.make_ndarray(proto) if dtype != "bfloat16" else None
    if read is None:  # the reader has none: the bits of float32 without the lower half
        bits = np.array(proto.half_val, np.uint32) << 16
        read = bits.view(np.float32).reshape(2, 2)
    assert read.tolist() == x.tolist()


def test_an_embedding_is_files_that_the_projector_reads(tmp_path: Path) -> None:
    points, pictures = tensorbus.arange(6.0).reshape(3, 2), tensorbus.rand(3, 1, 4, 2)
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(points, ["a", "b", "c"], pictures, global_step=3, tag='one/"two"')
        writer.add_embedding(points, [("a", 1), ("b", 2), ("c", 3)], metadata_header=["x", "y"])
    config = text_format.Parse((tmp_path / "projector_config.pbtxt").read_text(), ProjectorConfig())
    first, second = config.embeddings
    assert (first.tensor_name, second.tensor_name) == ('one/"two":00003', "default:00000")
    assert (tmp_path / first.tensor_path).read_text() == "0.0\t1.0\n2.0\t3.0\n4.0\t5.0\n"
    assert (tmp_path / first.metadata_path).read_text() == "a\nb\nc\n"
    assert (tmp_path / second.metadata_path).read_text() == "x\ty\na\t1\nb\t2\nc\t3\n"
    assert list(first.sprite.single_image_dim) == [2, 4]
    with Image.open(tmp_path / first.sprite.image_path) as sprite:
        pixels = np.asarray(sprite)
    assert pixels.shape == (8, 4, 3)  # two rows of two
    assert abs(pixels[:4, 2:, 1] - 255 * pictures[1, 0].numpy()).max() < 1


def test_truths_among_the_hyperparameters_are_truths(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"nesterov": True}, {})
    start = next(s["metadata"] for *_, s in told(tmp_path) if "sessionStartInfo" in s["metadata"])
    assert start["sessionStartInfo"]["hparams"] == {"nesterov": True}


def test_logging_goes_on_after_close_and_from_an_earlier_step(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        for step in range(6):
            writer.add_scalar("x", step, step)
    with SummaryWriter(tmp_path, purge_step=3, filename_suffix=".again") as writer:
        writer.add_scalar("x", 30, 3)
        writer.close()
        writer.add_scalar("x", 40, 4, walltime=5.0)
    assert len(list(tmp_path.glob("*.again"))) == 2
    read = EventAccumulator(str(tmp_path)).Reload()
    assert [(s.step, s.value) for s in read.Scalars("x")] == [
        (0, 0), (1, 1), (2, 2), (3, 30), (4, 40)
    ]  # fmt: skip
    assert read.Scalars("x")[-1].wall_time == 5.0


def test_flush_brings_everything_into_the_file(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path, max_queue=100, flush_secs=10_000)
    for step in range(50):
        writer.add_scalar("x", step, step)
    writer.flush()
    assert len(events(tmp_path)) == 51
    writer.close()


def test_a_folder_is_named_by_time_and_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    SummaryWriter(comment="_why").close()
    (made,) = Path("runs").iterdir()
    assert made.name.endswith("_why")


def test_a_writer_of_files_alone(tmp_path: Path) -> None:
    writer = FileWriter(tmp_path)
    assert writer.get_logdir() == str(tmp_path)
    writer.add_summary(summary.scalar("x", 1.5), 2)
    writer.close()
    writer.reopen()
    writer.add_event(Event(step=9))
    writer.close()
    assert sorted(e.step for e in events(tmp_path)) == [0, 0, 2, 9]
    with (tmp_path / "events.out.tfevents.by-hand").open("wb") as file:
        RecordWriter(file).write(Event(step=7).SerializeToString())
    assert 7 in [e.step for e in events(tmp_path)]


def test_values_come_from_any_device(tmp_path: Path, device: str) -> None:
    x = tensorbus.arange(4.0, device=device).requires_grad_()
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("sum", x.sum(), 1)
        writer.add_histogram("x", x, 1, bins=2)
        writer.add_image("image", x.reshape(1, 2, 2) / 3)
        writer.add_mesh("mesh", x[:3].reshape(1, 1, 3))
        writer.add_tensor("tensor", x)
    values = [e.summary.value[0] for e in events(tmp_path)[1:]]
    assert values[0].simple_value == 6.0 and values[1].histo.num == 4
    assert MeshPluginData.FromString(values[3].metadata.plugin_data.content).shape == [1, 1, 3]
    assert list(values[4].tensor.float_val) == [0.0, 1.0, 2.0, 3.0]
    assert make_np(x.to(tensorbus.bfloat16)).tolist() == [0.0, 1.0, 2.0, 3.0]


class Net(tensorbus.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        nn = tensorbus.nn
        self.conv, self.norm = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)
        self.parts = nn.Sequential(nn.Flatten(), nn.Linear(8, 3), nn.Dropout())

    def forward(self, x: Any, factor: Any) -> Any:
        y = tensorbus.relu(self.norm(self.conv(x)))
        y += 1
        return self.parts(y * factor), y


def test_a_graph_has_the_calls_of_a_model_and_what_they_read(tmp_path: Path) -> None:
    net, inputs = Net(), (tensorbus.rand(2, 1, 4, 4), tensorbus.tensor(2.0))
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(net, inputs)
    assert net.training and net.parts[2].training and not net._forward_hooks
    assert not net.norm.num_batches_tracked.any()  # called in evaluation mode
    (_, event) = events(tmp_path)
    nodes = {node.name: node for node in GraphDef.FromString(event.graph_def).node}
    reads = {name: list(node.input) for name, node in nodes.items()}
    linear = "Net/Sequential[parts]/Linear[1]"
    assert reads["Net/Conv2d[conv]/conv2d"] == [
        "input/input.1", "Net/Conv2d[conv]/weight", "Net/Conv2d[conv]/bias"
    ]  # fmt: skip
    assert reads["Net/relu"] == ["Net/BatchNorm2d[norm]/batch_norm"]
    assert reads["Net/add_"] == ["Net/relu"]
    assert reads["Net/mul"] == ["Net/add_", "input/input.2"]
    assert reads[f"{linear}/linear"][1:] == [f"{linear}/weight", f"{linear}/bias"]
    assert reads["output/output.2"] == ["Net/add_"]
    (shape,) = nodes[f"{linear}/linear"].attr["_output_shapes"].list.shape
    assert [dim.size for dim in shape.dim] == [2, 3]
    assert all(read.partition(":")[0] in nodes for inputs in reads.values() for read in inputs)


def test_results_of_several_tensors_are_numbered(tmp_path: Path) -> None:
    lstm = tensorbus.nn.LSTM(2, 3)
    nodes = {node.name: node for node in graph(lstm, tensorbus.ones(4, 1, 2)).node}
    assert [list(nodes[f"output/output.{i}"].input) for i in (1, 2, 3)] == [
        ["LSTM/lstm"], ["LSTM/lstm:1"], ["LSTM/lstm:2"]
    ]  # fmt: skip


def test_graphs_that_can_not_be_logged(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(ValueError, match="input_to_model"):
            writer.add_graph(tensorbus.nn.Linear(1, 1))
        net = tensorbus.nn.Linear(1, 1)
        with pytest.raises(RuntimeError, match="cannot be multiplied"):
            writer.add_graph(net, tensorbus.ones(3, 3))
        assert net.training and not net._forward_hooks and not net._forward_pre_hooks
        with pytest.raises(NotImplementedError, match="ONNX"):
            writer.add_onnx_graph("model.onnx")


WITHOUT_TENSORBOARD = """
import sys
sys.modules["tensorboard"] = None  # as where it is not installed
import tensorbus.as_torch
tensorbus.as_torch.install()
import torch
from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams
from tests.utils.tensorboard_cases import CASES
for name, case in CASES.items():
    with SummaryWriter(f"{sys.argv[1]}/{name}") as writer:
        assert type(writer.file_writer.event_writer).__module__.endswith("event_files")
        case(torch, writer)
        writer.add_graph(torch.nn.ReLU(), torch.ones(1))
"""


@pytest.mark.slow
def test_tensorboardx_writes_the_same(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX", reason="writes the files (extra `test`)")
    command = [sys.executable, "-c", WITHOUT_TENSORBOARD, tmp_path / "other"]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[2])
    for name, case in CASES.items():
        with SummaryWriter(tmp_path / "ours" / name) as writer:
            case(tensorbus, writer)
        graphs = [e.graph_def for e in events(tmp_path / "other" / name) if e.graph_def]
        assert next(n.op for n in GraphDef.FromString(graphs[0]).node) == "Input"
        ours, other = (told(tmp_path / folder / name) for folder in ("ours", "other"))
        assert ours and ours == other, name


def test_without_either_package_it_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['tensorboard'] = sys.modules['tensorboardX'] = None\n"
        "import tensorbus\n"
        "try: from tensorbus.utils.tensorboard import SummaryWriter\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install 'tensorbus[tensorboard]'" in done.stdout, done.stderr
