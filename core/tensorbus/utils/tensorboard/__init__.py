"""What a training run writes for TensorBoard: scalars, histograms, images, text, figures.

    from tensorbus.utils.tensorboard import SummaryWriter

    with SummaryWriter("runs/first") as writer:
        for step in range(100):
            writer.add_scalar("loss", loss, step)

``tensorboard --logdir runs`` shows them. The package ``tensorboard`` or ``tensorboardX`` is needed,
whichever is there: ``pip install 'tensorbus[tensorboard]'``.
"""

from tensorbus.utils.tensorboard.file_writer import FileWriter
from tensorbus.utils.tensorboard.record_writer import RecordWriter
from tensorbus.utils.tensorboard.writer import SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
