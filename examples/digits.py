"""Train a LeNet on handwritten digits: the program of ``tensorbus demo``, in plain form.

    python examples/digits.py --device cpu --epochs 12 --seed 0

Only the import lines name tensorbus: with ``torch`` in their place it runs on PyTorch.
"""

import argparse
import time
from pathlib import Path

import tensorbus as torch
import tensorbus.nn.functional as F
from tensorbus import nn
from tensorbus.demo import digits

BATCH = 64


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 5)  # (n, 1, 28, 28) -> (n, 16, 24, 24)
        self.conv2 = nn.Conv2d(16, 32, 3)  # (n, 16, 12, 12) -> (n, 32, 10, 10)
        self.dropout = nn.Dropout(0.3)
        self.classify = nn.Linear(32 * 5 * 5, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2(x), 2))
        return self.classify(self.dropout(x.flatten(1)))


def shifted(padded, chosen):
    """The images *chosen* out of *padded*, each moved by up to two pixels either way."""
    corner = torch.randint(0, 5, (len(chosen), 2))
    rows = (corner[:, :1] + torch.arange(28)).to(padded.device)
    columns = (corner[:, 1:] + torch.arange(28)).to(padded.device)
    chosen = chosen.to(padded.device)
    return padded[chosen[:, None, None], rows[:, :, None], columns[:, None, :]].unsqueeze(1)


def predict(net, images):
    """The scores of every image, without dropout and without recording gradients."""
    net.eval()
    with torch.no_grad():
        return torch.cat([net(part.unsqueeze(1)) for part in images.split(250)])


def train(net, images, labels, epochs, report):
    """Train *net* in place and return the loss of every step; ``report(epoch)`` after each."""
    padded = F.pad(images, (2, 2, 2, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    steps = epochs * -(-len(labels) // BATCH)
    warm_up = min(60, max(1, steps // 2))  # a slow start keeps devices together to 1e-6
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda t: min((t + 1) / warm_up, (steps - t) / max(1, steps - warm_up))
    )
    losses = []
    for epoch in range(1, epochs + 1):
        net.train()
        for chosen in torch.randperm(len(labels)).split(BATCH):
            scores = net(shifted(padded, chosen))
            loss = F.cross_entropy(scores, labels[chosen.to(labels.device)])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        report(epoch)
    return losses


def draw(path, losses, images, labels, predicted):
    """The loss curve, twelve digits with their predictions, the confusion matrix."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    counts = [[0] * 10 for _ in range(10)]
    for true, found in zip(labels, predicted, strict=True):
        counts[true][found] += 1
    figure, axes = plt.subplot_mosaic(
        "LLLL0123MMMM;LLLL4567MMMM;LLLL89abMMMM", figsize=(15, 5), layout="constrained"
    )
    axes["L"].semilogy(losses)
    axes["L"].set(title="loss", xlabel="step")
    for i, name in enumerate("0123456789ab"):
        axes[name].imshow(images[i], cmap="gray_r")
        axes[name].set_title(str(predicted[i]))
        axes[name].set_axis_off()
    axes["M"].imshow(counts, cmap="Blues", vmax=10)
    axes["M"].set(title="confusion", xlabel="predicted", ylabel="true")
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("digits"), help="names without suffix")
    args = parser.parse_args()

    data = digits.load()
    images, labels, test_images, test_labels = (
        torch.from_numpy(part).to(args.device) for part in data
    )
    torch.manual_seed(args.seed)
    net = LeNet().to(args.device)

    def report(epoch):
        right = (predict(net, test_images).argmax(1) == test_labels).float().mean().item()
        print(f"epoch {epoch:2}: {right:.1%} of the held-out digits right")

    start = time.perf_counter()
    losses = train(net, images, labels, args.epochs, report)
    print(f"trained in {time.perf_counter() - start:.1f} s")

    checkpoint = args.out.with_suffix(".pt")
    torch.save({"net": net.state_dict()}, checkpoint)
    again = LeNet().to(args.device)
    again.load_state_dict(torch.load(checkpoint, map_location=args.device)["net"])
    scores = predict(net, test_images)
    print("reloaded: equal predictions:", torch.equal(scores, predict(again, test_images)))
    try:
        draw(args.out.with_suffix(".png"), losses, data[2], data[3], scores.argmax(1).tolist())
    except ImportError:
        print("for the picture: pip install 'tensorbus[demo]'")


if __name__ == "__main__":
    main()
