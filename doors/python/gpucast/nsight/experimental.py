"""What `nsight-python` calls experimental: columns of one's own."""

from __future__ import annotations

from typing import Any, Callable, TypeVar, overload

from ._collectors import CollectionScope, marked

__all__ = ["collect"]

Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def collect(_func: Function, *, scope: CollectionScope | str) -> Function: ...
@overload
def collect(
    _func: None = None, *, scope: CollectionScope | str
) -> Callable[[Function], Function]: ...
def collect(
    _func: Callable[..., Any] | None = None, *, scope: CollectionScope | str
) -> Callable[..., Any]:
    """Marks a function for `info_collectors=`: a decorator. Its name is that of a column.

    `scope` says when it is called, and with which arguments. Numbers that may change from run to
    run have the columns `_Avg`, `_Std`, `_Min` and `_Max`; of other values the first one counts.
    """
    if _func is not None:
        return marked(_func, scope)
    return lambda function: marked(function, scope)
