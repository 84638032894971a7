"""What the tags ``inplace`` and ``out`` say of a schema."""

from __future__ import annotations

from collections.abc import Sequence

from tensorbus.library.schema import Argument, FunctionSchema
from tensorbus.library.tags import Tag


def check_tagged(schema: FunctionSchema, tags: Sequence[Tag]) -> None:
    """ValueError for a schema that is not as its tags say."""
    if Tag.out in tags:
        _check_out(schema)
    if Tag.inplace in tags:
        _check_in_place(schema)


def _is_tensor(a: Argument) -> bool:
    return a.type.text() == "Tensor"


def _check_out(schema: FunctionSchema) -> None:
    told = "Schema tagged with torch.Tag.out"
    written = [a for a in schema.arguments if a.is_write]
    if not written:
        raise ValueError(f"{told} must have at least one mutable argument. Got: {schema}")
    positional = [a.name for a in written if not a.kwarg_only]
    if positional:
        raise ValueError(
            f"{told} requires all mutable arguments to be keyword-only (after the *). Found "
            f"mutable positional args: {positional}. Got: {schema}"
        )
    others = [a.name for a in written if not _is_tensor(a)]
    if others:
        raise ValueError(
            f"{told} only supports Tensor mutable arguments. Found unsupported mutable args: "
            f"{others}. Got: {schema}"
        )
    if len(schema.returns) != len(written):
        raise ValueError(
            f"{told} must return all mutable arguments (got {len(written)} mutable args but "
            f"{len(schema.returns)} returns). Got: {schema}"
        )
    for i, (result, a) in enumerate(zip(schema.returns, written, strict=True)):
        if not _same_alias(result, a):
            raise ValueError(
                f"Return {i} of schema tagged with torch.Tag.out must alias mutable arg "
                f"'{a.name}'. Got: {schema}"
            )


def _same_alias(result: Argument, a: Argument) -> bool:
    mine, other = result.alias_info, a.alias_info
    return mine is not None and other is not None and mine.is_write and mine.name == other.name


def _check_in_place(schema: FunctionSchema) -> None:
    told = "Schema tagged with torch.Tag.inplace"
    if not schema.arguments or schema.arguments[0].kwarg_only:
        raise ValueError(f"{told} must have at least one positional argument. Got: {schema}")
    first, *rest = schema.arguments
    if not first.is_write:
        raise ValueError(
            f"{told} requires the first positional argument to be mutable (e.g., Tensor(a!)). Got: "
            f"{schema}"
        )
    if not _is_tensor(first):
        raise ValueError(
            f"{told} requires the first positional argument to be a Tensor. Got type "
            f"'{first.type}' for arg '{first.name}'. Got: {schema}"
        )
    if len(schema.returns) != 1:
        raise ValueError(
            f"{told} must return exactly one value (the first argument). Got "
            f"{len(schema.returns)} returns. Got: {schema}"
        )
    if not (_is_tensor(schema.returns[0]) and _same_alias(schema.returns[0], first)):
        raise ValueError(
            f"{told} must return the first mutable argument (return must alias the first "
            f"argument). Got: {schema}"
        )
    others = [a.name for a in rest if a.is_write]
    if others:
        raise ValueError(
            f"{told} must only mutate the first positional argument. Found additional mutable "
            f"args: {others}. Got: {schema}"
        )
