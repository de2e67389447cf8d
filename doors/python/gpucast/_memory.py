"""The memory of arrays: where it lies, and which parts of it kernels may touch."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any


@dataclass
class Block:
    """Bytes of this process that the kernel reaches. The compiled module reads the attributes."""

    name: str
    address: int
    bytes: int
    writable: bool


@dataclass
class Span:
    """The bytes of one array, from its lowest to its highest element."""

    first: int
    """The address of the element with all indices zero."""
    low: int
    high: int
    writable: bool
    text: str
    """The array in a few words."""


def is_array(value: Any) -> bool:
    """True for objects whose elements lie in memory: arrays, tensors, buffers."""
    if is_numpy_scalar(value):
        return False
    if hasattr(value, "__array_interface__") or _is_tensor(value) or _is_on_gpu(value):
        return True
    try:
        with memoryview(value):
            return True
    except TypeError:
        return False


def elements(value: Any) -> tuple[str, bytes]:
    """The type of an array's elements, as `f32`, and their bytes in order."""
    if _is_tensor(value):
        value = value.contiguous()
        data = ctypes.string_at(value.data_ptr(), value.element_size() * value.numel())
        return str(value.dtype).removeprefix("torch."), data
    interface = getattr(value, "__array_interface__", None)
    if interface is not None:
        held = value if hasattr(value, "tobytes") else value.numpy()
        kind, size, data = interface["typestr"][1], int(interface["typestr"][2:]), held.tobytes()
    else:
        view = memoryview(value)
        kind, size, data = view.format[-1], view.itemsize, view.tobytes()
        kind = "f" if kind in "efd" else "i" if kind in "bhilqn" else "u"
    letter = {"f": "f", "i": "s", "u": "u", "b": "u"}.get(kind, kind)
    return f"{letter}{8 * size}", data


def is_numpy_scalar(value: Any) -> bool:
    """True for `numpy.float32(2)`: it has an array's interfaces, but is a value."""
    return any(
        base.__module__ == "numpy" and base.__name__ == "generic" for base in type(value).__mro__
    )


def _is_tensor(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("data_ptr", "element_size", "stride", "device"))


def _is_on_gpu(value: Any) -> bool:
    return hasattr(type(value), "__cuda_array_interface__")


class Memory:
    """Collects the arrays of a launch. It holds what lends them, so it must outlive the call."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._owners: list[Any] = []
        self.notes: list[str] = []

    def add(self, value: Any) -> Span:
        """Takes an array in and says where it lies."""
        span = self._span(value)
        if span.high > span.low:
            self._spans.append(span)
        return span

    def _span(self, value: Any) -> Span:
        interface = getattr(value, "__array_interface__", None)
        if interface is not None:
            self._owners.append(value)
            return _of_interface(interface)
        if _is_tensor(value):
            return self._of_tensor(value)
        if _is_on_gpu(value):
            raise TypeError(
                f"a {type(value).__name__} lies on a GPU; pass an array of this machine's memory"
            )
        return self._of_buffer(value)

    def _of_tensor(self, value: Any) -> Span:
        if value.device.type != "cpu":
            raise TypeError(f"the tensor lies on {value.device}; pass value.cpu()")
        self._owners.append(value)
        size = value.element_size()
        strides = [stride * size for stride in value.stride()]
        text = f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
        return _extent(value.data_ptr(), list(value.shape), strides, size, True, text)

    def _of_buffer(self, value: Any) -> Span:
        view = memoryview(value)
        if not view.c_contiguous:
            raise TypeError("a buffer whose elements do not follow one another cannot be passed")
        text = f"{view.format}[{view.nbytes // max(view.itemsize, 1)}]"
        writable, size = not view.readonly, view.nbytes
        if size == 0:
            return Span(0, 0, 0, writable, text)
        # Without NumPy nobody tells the address of a buffer that cannot be written.
        lent = (ctypes.c_char * size).from_buffer(value if writable else bytearray(view))
        self._owners.append(lent)
        first = ctypes.addressof(lent)
        return Span(first, first, first + size, writable, text)

    def blocks(self) -> list[Block]:
        """The arrays in the order of their addresses; those that overlap are one block."""
        blocks: list[Block] = []
        for span in sorted(self._spans, key=lambda span: (span.low, span.high)):
            last = blocks[-1] if blocks else None
            if last is not None and span.low < last.address + last.bytes:
                last.bytes = max(last.bytes, span.high - last.address)
                # A view that may not be written does not forbid it to the array.
                last.writable = last.writable or span.writable
            else:
                blocks.append(Block("", span.low, span.high - span.low, span.writable))
        return blocks

    def in_order(self) -> list[Block]:
        """The blocks in the order in which a launch names them first, as they are allocated."""
        blocks = self.blocks()
        ordered: list[Block] = []
        for span in self._spans:
            block = next(b for b in blocks if b.address <= span.low < b.address + b.bytes)
            if block not in ordered:
                block.name = f"array {len(ordered)}"
                ordered.append(block)
        return ordered


def _of_interface(interface: dict[str, Any]) -> Span:
    typestr, shape = interface["typestr"], list(interface["shape"])
    if typestr[1] == "O":
        raise TypeError("an array of Python objects has nothing that a kernel could read")
    if typestr[0] == ">" and typestr[2:] != "1":
        raise TypeError("the array's bytes are in another order than the GPU's")
    size = int(typestr[2:]) * (4 if typestr[1] == "U" else 1)
    strides = interface.get("strides")
    if strides is None:
        strides, step = [], size
        for extent in reversed(shape):
            strides.insert(0, step)
            step *= extent
    data = interface.get("data")
    if data is None:
        raise TypeError("the array does not tell its address")
    first, readonly = data
    return _extent(first, shape, list(strides), size, not readonly, f"{typestr[1:]}{shape}")


def _extent(
    first: int, shape: list[int], strides: list[int], size: int, writable: bool, text: str
) -> Span:
    if 0 in shape:
        return Span(0, 0, 0, writable, text)
    reach = [(extent - 1) * stride for extent, stride in zip(shape, strides)]
    low = first + sum(step for step in reach if step < 0)
    high = first + sum(step for step in reach if step > 0) + size
    return Span(first, low, high, writable, text)
