"""``python -m tensorbus.distributed.run``."""

import sys

from tensorbus.distributed.run import main

if __name__ == "__main__":
    sys.exit(main())
