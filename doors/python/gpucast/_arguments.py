"""Arguments of kernels as the bytes of their parameters."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Sequence

from . import _memory
from ._memory import Block, Memory, Span

POINTER_BYTES = 8


class Parameter(NamedTuple):
    """A parameter of a kernel, as its PTX declares it."""

    name: str
    type: str
    """The type of an element: `u64`, `f32`, `b8`."""
    bytes: int
    align: int
    is_array: bool
    """True for structures passed by value, which PTX declares as arrays of bytes."""


@dataclass
class Pointer:
    """An address among an argument's bytes. The compiled module reads the attributes."""

    at: int
    block: int
    offset: int


@dataclass
class Argument:
    """The bytes of one parameter. The compiled module reads the attributes."""

    data: bytes
    text: str
    pointers: list[Pointer] = field(default_factory=list)


@dataclass
class Arguments:
    """All parameters of a launch and the memory they point into."""

    blocks: list[Block] = field(default_factory=list)
    values: list[Argument] = field(default_factory=list)


class Value(NamedTuple):
    """The bytes of a parameter, with the arrays that it points into."""

    data: bytes
    text: str
    spans: tuple[tuple[int, Span], ...] = ()
    """Byte offsets of pointers, each with its array."""


def pointer(span: Span) -> Value:
    """The address of an array's first element; null for an array without elements."""
    if span.high == span.low:
        return Value(bytes(POINTER_BYTES), f"{span.text} without elements")
    return Value(bytes(POINTER_BYTES), span.text, ((0, span),))


def assembled(values: Sequence[Value], memory: Memory) -> Arguments:
    """Resolves the pointers, when all arrays of a launch are known."""
    blocks = memory.in_order()

    def resolved(at: int, span: Span) -> Pointer:
        holds = (block.address <= span.low < block.address + block.bytes for block in blocks)
        index = next(index for index, does in enumerate(holds) if does)
        return Pointer(at, index, span.first - blocks[index].address)

    arguments = [
        Argument(data, text, [resolved(at, span) for at, span in spans])
        for data, text, spans in values
    ]
    return Arguments(blocks, arguments)


def encoded(values: Sequence[Any], parameters: Sequence[Parameter], memory: Memory) -> list[Value]:
    """Values of Python as the parameters of a kernel want them."""
    if len(values) != len(parameters):
        expected = ", ".join(f"{one.name}: {one.type}" for one in parameters)
        raise TypeError(
            f"the kernel has {len(parameters)} parameters ({expected}), "
            f"and {len(values)} arguments are given"
        )
    return [_encoded(value, one, memory) for value, one in zip(values, parameters)]


def _encoded(value: Any, parameter: Parameter, memory: Memory) -> Value:
    if isinstance(value, Value):
        return _of_size(value.data, value.text, parameter, value.spans)
    if isinstance(value, (ctypes.Structure, ctypes.Array)) or (
        parameter.is_array and isinstance(value, (bytes, bytearray))
    ):
        return _of_size(bytes(value), "a structure", parameter)
    if value is None:
        return _of_size(bytes(POINTER_BYTES), "None", parameter)
    if _memory.is_numpy_scalar(value):
        is_real = parameter.type.startswith(("f", "bf"))
        if value.dtype.kind == "f" and parameter.type[0] in "us":
            raise _wrong(parameter, f"a {value.dtype}")
        if value.dtype.kind in "iub" and is_real:
            return _encoded(float(value), parameter, memory)
        return _of_size(value.tobytes(), f"{value.dtype} {value}", parameter)
    if _memory.is_array(value):
        if parameter.bytes != POINTER_BYTES or parameter.type == "f64" or parameter.is_array:
            raise _wrong(parameter, "an array")
        return pointer(memory.add(value))
    if isinstance(value, (bool, int)):
        if parameter.type.startswith(("f", "bf")):
            return _encoded(float(value), parameter, memory)
        try:
            data = int(value).to_bytes(parameter.bytes, "little", signed=value < 0)
        except OverflowError:
            message = f"parameter {parameter.name} has {parameter.bytes} bytes, {value} needs more"
            raise ValueError(message) from None
        return Value(data, str(value))
    if isinstance(value, float):
        # Untyped parameters take the float of their size.
        formats = {("f", 4): "<f", ("b", 4): "<f", ("f", 8): "<d", ("b", 8): "<d", ("f", 2): "<e"}
        form = formats.get((parameter.type[0], parameter.bytes))
        if form is None or parameter.is_array or parameter.type.startswith("bf"):
            raise _wrong(parameter, "a float")
        return Value(struct.pack(form, value), str(value))
    raise _wrong(parameter, f"a {type(value).__name__}")


def _of_size(
    data: bytes, text: str, parameter: Parameter, spans: tuple[tuple[int, Span], ...] = ()
) -> Value:
    if len(data) != parameter.bytes:
        raise TypeError(
            f"parameter {parameter.name} is {parameter.type} of {parameter.bytes} bytes, "
            f"and {text} has {len(data)}"
        )
    return Value(data, text, spans)


def _wrong(parameter: Parameter, what: str) -> TypeError:
    kind = "a structure" if parameter.is_array else parameter.type
    return TypeError(
        f"parameter {parameter.name} is {kind} of {parameter.bytes} bytes, and cannot be {what}"
    )
