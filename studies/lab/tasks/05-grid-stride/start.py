from numba import cuda, float32


# Clamps n numbers to 0 ... 1. The grid has 264 blocks of 256 threads, whatever n is.
@cuda.jit
def clamp01(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = min(max(x[i], float32(0)), float32(1))
