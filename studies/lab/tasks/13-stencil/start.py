from numba import cuda, float32


# y[i] is the mean of x[i - 8] ... x[i + 8]. Numbers outside of x count as 0.
@cuda.jit
def mean17(x, y, n):
    i = cuda.grid(1)
    if i >= n:
        return
    total = float32(0)
    for k in range(-8, 9):
        if i + k >= 0 and i + k < n:
            total += x[i + k]
    y[i] = total / float32(17)
