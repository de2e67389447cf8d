"""Kernels of Warp for the tests. Warp reads the source of its functions from their file."""

import warp as wp


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()])


@wp.kernel
def product(
    a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)
):
    row, column = wp.tid()
    total = float(0.0)
    for k in range(a.shape[1]):
        total += a[row, k] * b[k, column]
    c[row, column] = total
