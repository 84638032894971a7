"""pytorch-ignite: a trainer and an evaluator with metrics, handlers and events."""

# /// script
# dependencies = ["numpy", "packaging"]
# [tool.ecosystem]
# alone = ["pytorch-ignite==0.5.5"]
# ///
from __future__ import annotations

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import EarlyStopping, EMAHandler
from ignite.metrics import Accuracy, ConfusionMatrix, Loss, RunningAverage
from recorded import filled, numbers, same
from torch import nn

model = filled(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)))
optimizer, criterion = torch.optim.SGD(model.parameters(), lr=0.1), nn.CrossEntropyLoss()
x = numbers(24, 4)
data = [(part, part[:, :3].argmax(1)) for part in x.split(8)]
trainer = create_supervised_trainer(model, optimizer, criterion)
RunningAverage(output_transform=lambda loss: loss).attach(trainer, "loss")
EMAHandler(model, momentum=0.1).attach(trainer)
metrics = {"accuracy": Accuracy(), "loss": Loss(criterion), "table": ConfusionMatrix(3)}
evaluator = create_supervised_evaluator(model, metrics=metrics)
stopper = EarlyStopping(3, lambda engine: -engine.state.metrics["loss"], trainer)
evaluator.add_event_handler(Events.COMPLETED, stopper)


@trainer.on(Events.EPOCH_COMPLETED)
def look(engine):
    evaluator.run(data)


trainer.run(data, max_epochs=5)
for name, value in {**evaluator.state.metrics, **trainer.state.metrics}.items():
    same(name, value, rtol=1e-3)
