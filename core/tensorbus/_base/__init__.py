"""What everything stands on: dtypes, sizes, formats, errors, and the flags of modes."""

from tensorbus._base import early_interrupt

# Here, in what is imported first of all.
early_interrupt.watch()
