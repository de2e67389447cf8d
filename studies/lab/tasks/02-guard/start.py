from numba import cuda


# y = a x + y
@cuda.jit
def saxpy(a, x, y, n):
    i = cuda.grid(1)
    y[i] = a * x[i] + y[i]
