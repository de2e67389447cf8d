from numba import cuda


# Multiplies each of n numbers by a factor.
@cuda.jit
def scale(x, factor, n):
    # Each thread takes one number. Which one?
    i = cuda.threadIdx.x
    if i < n:
        x[i] = x[i] * factor
