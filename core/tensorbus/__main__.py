"""``python -m tensorbus`` is the ``tensorbus`` command."""

import sys

from tensorbus.cli import main

sys.exit(main())
