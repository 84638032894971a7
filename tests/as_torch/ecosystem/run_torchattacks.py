"""torchattacks: images that mislead a small net, found by five attacks."""

# /// script
# dependencies = ["numpy", "requests", "scipy", "tqdm"]
# [tool.ecosystem]
# alone = ["torchattacks==3.5.1"]
# ///
from __future__ import annotations

import torch
import torchattacks
from recorded import filled, numbers, same
from torch import nn

net = filled(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))).eval()
images, labels = torch.sigmoid(numbers(2, 3, 8, 8)), torch.tensor([0, 1])
attacks = {
    "fgsm": torchattacks.FGSM(net),
    "pgd": torchattacks.PGD(net, steps=3, random_start=False),
    "cw": torchattacks.CW(net, steps=5),
    "deepfool": torchattacks.DeepFool(net, steps=5),
    "mifgsm": torchattacks.MIFGSM(net, steps=3),
}
for name, attack in attacks.items():
    found = attack(images, labels)
    same(name, [(found - images).norm().item(), *net(found).flatten().tolist()], rtol=1e-3)
