from numba import cuda


@cuda.jit
def scale(x, factor, n):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < n:
        x[i] = x[i] * factor
