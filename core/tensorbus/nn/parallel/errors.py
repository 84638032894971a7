"""What DistributedDataParallel says when passes and parameters do not fit, in PyTorch's words."""

from __future__ import annotations

from collections.abc import Sequence

_PRIOR = (
    "Expected to have finished reduction in the prior iteration before starting a new one. "
    "This error indicates that "
)


def unfinished(
    rank: int, missing: Sequence[tuple[int, str]], searched: bool, static: bool
) -> RuntimeError:
    """A forward begins, but *missing* parameters had no gradient in the pass before."""
    if static:
        text = (
            f"{_PRIOR}your training graph has changed in this iteration, e.g., one parameter is "
            "used in first iteration, but then got unused in the second iteration. this is not "
            "compatible with static_graph set to True."
        )
    else:
        text = f"{_PRIOR}your module has parameters that were not used in producing loss. "
        if searched:
            text += (
                "Since `find_unused_parameters=True` is enabled, this likely  means that not all "
                "`forward` outputs participate in computing loss. You can fix this by "
            )
        else:
            text += (
                "You can enable unused parameter detection by passing the keyword argument "
                "`find_unused_parameters=True` to `tensorbus.nn.parallel.DistributedDataParallel`, "
                "and by \n"
            )
        text += (
            "making sure all `forward` function outputs participate in calculating loss. \n"
            "If you already have done the above, then the distributed data parallel module wasn't "
            "able to locate the output tensors in the return value of your module's `forward` "
            "function. It looks into tensors, lists, tuples, dicts and dataclasses."
        )
    names = ", ".join(name for _, name in missing)
    indices = " ".join(str(i) for i, _ in missing)
    return RuntimeError(
        f"{text}\nParameters which did not receive grad for rank {rank}: {names}\n"
        f"Parameter indices which did not receive grad for rank {rank}: {indices}"
    )


def marked_twice(i: int, name: str, static: bool) -> RuntimeError:
    """A parameter's gradient came twice in one pass."""
    if static:
        text = (
            "Your training graph has changed in this iteration, e.g., one parameter is unused in "
            "first iteration, but then got used in the second iteration. this is not compatible "
            "with static_graph set to True."
        )
    else:
        text = (
            "Expected to mark a variable ready only once. This error is caused by one of the "
            "following reasons: 1) Use of a module parameter outside the `forward` function. "
            "Please make sure model parameters are not shared across multiple concurrent "
            "forward-backward passes. 2) Reused parameters in multiple reentrant backward passes. "
            "3) A parameter that find_unused_parameters=True found to be unused in the outputs of "
            "`forward`, and that a loss used all the same."
        )
    return RuntimeError(
        f"{text}\nParameter at index {i} with name {name} has been marked as ready twice."
    )


def shapes_differ(rank: int, own: Sequence[str], other: int, theirs: Sequence[str]) -> RuntimeError:
    """The models of two ranks have different parameters; each is given as it is described."""
    if len(own) != len(theirs):
        extra = sorted(set(own) ^ set(theirs))
        return RuntimeError(
            f"DDP expects same model across all ranks, but Rank {other} has {len(theirs)} params, "
            f"while rank {rank} has inconsistent {len(own)} params. Found on one of them only: "
            f"{'; '.join(extra[:8])}"
        )
    i, (mine, its) = next(
        (i, pair) for i, pair in enumerate(zip(own, theirs, strict=True)) if pair[0] != pair[1]
    )
    return RuntimeError(
        f"DDP expects same model across all ranks: params[{i}] is {mine} on rank {rank}, which "
        f"appears not to match {its} on rank {other}"
    )
