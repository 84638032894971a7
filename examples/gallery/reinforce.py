"""REINFORCE: a pole is balanced on a cart, in the game of `pip install gymnasium`.

    $ python examples/gallery/reinforce.py
    episodes 50: length 36
    episodes 100: length 190
    episodes 150: length 422

Reaches length above 100, the mean of the last 50 episodes.
"""

import sys

import gymnasium

import tensorbus as torch
from tensorbus import nn


def main(device="cpu", steps=150):
    torch.manual_seed(0)
    game = gymnasium.make("CartPole-v1")
    policy = nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 2)).to(device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.005)
    lengths = []
    for episode in range(int(steps)):
        seen, over, states, actions = game.reset(seed=episode)[0], False, [], []
        while not over:
            states.append(torch.tensor(seen, device=device))
            with torch.no_grad():
                chances = policy(states[-1]).softmax(0)
            actions.append(torch.multinomial(chances, 1).item())  # host: the game runs there
            seen, _, ended, late, _ = game.step(actions[-1])
            over = ended or late
        lengths.append(len(actions))
        left = torch.arange(len(actions), 0, -1, device=device)
        returns = (1 - 0.99**left) / 0.01  # one for each step left, discounted
        returns = (returns - returns.mean()) / (returns.std() + 1e-6)
        loss = nn.functional.cross_entropy(
            policy(torch.stack(states)), torch.tensor(actions, device=device), reduction="none"
        )
        optimizer.zero_grad()
        (loss * returns).sum().backward()
        optimizer.step()
        if len(lengths) % 50 == 0:
            print(f"episodes {len(lengths)}: length {sum(lengths[-50:]) / 50:.0f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
