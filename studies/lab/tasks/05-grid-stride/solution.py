from numba import cuda, float32


@cuda.jit
def clamp01(x, y, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        y[i] = min(max(x[i], float32(0)), float32(1))
