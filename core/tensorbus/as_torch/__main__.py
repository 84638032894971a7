"""``python -m tensorbus.as_torch`` runs a program, in which torch is tensorbus."""

from tensorbus.as_torch.program import main

main()
