"""lightning: a module fitted, validated and predicted with by the Trainer, and Fabric's loop."""

# /// script
# dependencies = ["numpy", "fsspec", "packaging", "tqdm", "PyYAML", "typing-extensions"]
# [tool.ecosystem]
# alone = ["lightning==2.6.6", "lightning-utilities", "torchmetrics", "pytorch-lightning"]
# ///
from __future__ import annotations

import tempfile

import lightning as L
import torch
from lightning.fabric import Fabric
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from recorded import filled, numbers, same
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Model(L.LightningModule):
    def __init__(self, width: int = 8):
        super().__init__()
        self.save_hyperparameters()
        self.net = filled(nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 1)))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        loss = F.mse_loss(self(batch[0]), batch[1])
        self.log("train", loss)
        return loss

    def validation_step(self, batch, index):
        self.log("val", F.mse_loss(self(batch[0]), batch[1]), prog_bar=True)

    def predict_step(self, batch, index):
        return self(batch[0])

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)]


x = numbers(32, 4)
data = TensorDataset(x, x[:, :1] - 2 * x[:, 1:2])
loader = DataLoader(data, batch_size=8)
with tempfile.TemporaryDirectory() as folder:
    kept = ModelCheckpoint(folder, monitor="val")
    trainer = L.Trainer(
        max_epochs=4, accelerator="cpu", logger=False, callbacks=[kept, EarlyStopping("val")],
        default_root_dir=folder, enable_progress_bar=False, enable_model_summary=False,
        gradient_clip_val=1.0, accumulate_grad_batches=2,
    )  # fmt: skip
    model = Model()
    trainer.fit(model, loader, loader)
    same("fitted", trainer.callback_metrics["val"], rtol=1e-3)
    same("validated", trainer.validate(model, loader, verbose=False)[0]["val"], rtol=1e-3)
    same("predicted", torch.cat(trainer.predict(model, loader)), rtol=1e-3)
    again = Model.load_from_checkpoint(kept.best_model_path)
    same("read", again(x[:3]), rtol=1e-3)
    assert again.hparams.width == 8 and again.to(torch.float64).dtype == torch.float64

fabric = Fabric(accelerator="cpu", devices=1)
net = filled(nn.Linear(4, 1))
net, optimizer = fabric.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
for batch in fabric.setup_dataloaders(loader):
    optimizer.zero_grad()
    fabric.backward(F.mse_loss(net(batch[0]), batch[1]))
    optimizer.step()
same("fabric", net.weight, rtol=1e-3)
