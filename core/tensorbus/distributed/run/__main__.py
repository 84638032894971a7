"""``python -m tensorbus.distributed.run``."""

import sys

from tensorbus.distributed.run import main

sys.exit(main())
