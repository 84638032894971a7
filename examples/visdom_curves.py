"""A training run watched in visdom: a curve of losses, and the weights as images.

Start ``python -m visdom.server`` in another terminal, run this, and open http://localhost:8097.
"""

import sys

import tensorbus as torch
from tensorbus import nn
from tensorbus.demo import digits


def main(epochs: int = 10) -> None:
    try:
        import visdom
    except ImportError:
        sys.exit("this example needs visdom: pip install visdom")
    vis = visdom.Visdom(raise_exceptions=False)
    if not vis.check_connection():
        sys.exit("no visdom server answers: start one with python -m visdom.server")
    data = digits.load()
    images = torch.from_numpy(data.train_images[:2000]).flatten(1)
    labels = torch.from_numpy(data.train_labels[:2000])
    samples = torch.utils.data.TensorDataset(images, labels)
    loader = torch.utils.data.DataLoader(samples, batch_size=50, shuffle=True)
    net = nn.Linear(images.shape[1], 10)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    side = round(images.shape[1] ** 0.5)
    for epoch in range(epochs):
        total = 0.0
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        mean = torch.tensor([total / len(loader)])
        vis.line(
            Y=mean.numpy(), X=[epoch], win="loss", update="append" if epoch else None,
            opts={"title": "loss"},
        )  # fmt: skip
        weights = net.weight.detach().reshape(10, 1, side, side)
        vis.images((weights * 2 + 0.5).clamp(0, 1).numpy(), nrow=5, win="weights")
        print(f"epoch {epoch}: loss {mean.item():.4f}")


if __name__ == "__main__":
    main()
