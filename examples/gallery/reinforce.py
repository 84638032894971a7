"""REINFORCE: a pole is balanced on a cart. Reaches length above 60, the mean of 50 episodes.

$ python examples/gallery/reinforce.py
episode 199: length 181
"""

import sys

import gymnasium  # pip install gymnasium

import tensorbus as torch
from tensorbus import nn

torch.set_default_device(sys.argv[1] if sys.argv[1:] else "cpu")
torch.manual_seed(0)
game = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("CartPole-v1"), 50)
policy = nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=0.005)
for episode in range(int(sys.argv[2]) if sys.argv[2:] else 200):
    state, over, losses = game.reset(seed=episode)[0], [False], []
    while not any(over):
        logits = policy(torch.tensor(state))
        action = torch.multinomial(logits.softmax(0), 1)
        losses.append(nn.functional.cross_entropy(logits.unsqueeze(0), action))
        state, _, *over, _ = game.step(action.item())  # host: the game runs in Python
    returns = 1 - 0.99 ** torch.arange(len(losses), 0, -1)  # one for each step left, discounted
    optimizer.zero_grad()
    (torch.stack(losses) * nn.functional.layer_norm(returns, returns.shape)).sum().backward()
    optimizer.step()
    print(f"episode {episode}: length {sum(game.length_queue) / len(game.length_queue):.0f}")
