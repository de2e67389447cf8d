from numba import cuda, float32, uint32


@cuda.jit(device=True)
def series(x):
    total = float32(0)
    for k in range(64):
        total = total * x + float32(0.5)
    return total


@cuda.jit(device=True)
def product(x):
    p = float32(1)
    for k in range(64):
        p *= float32(1) - x * x * float32(0.01)
    return p


# A pair of warps takes 64 numbers: the first warp the even ones, the second the odd ones.
@cuda.jit
def alternate(x, y, n):
    # Without a sign: `//` and `%` of numbers with one take several instructions.
    thread = uint32(cuda.grid(1))
    lane, is_odd = thread % 32, thread // 32 % 2
    i = thread // 64 * 64 + 2 * lane + is_odd
    if i < n:
        if is_odd:
            y[i] = product(x[i])
        else:
            y[i] = series(x[i])
