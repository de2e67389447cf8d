from numba import cuda


# Adds two vectors. Each thread takes 16 numbers.
@cuda.jit
def add(a, b, c, n):
    thread = cuda.grid(1)
    for k in range(16):
        i = thread * 16 + k
        if i < n:
            c[i] = a[i] + b[i]
