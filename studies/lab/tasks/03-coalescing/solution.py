from numba import cuda


@cuda.jit
def add(a, b, c, n):
    thread = cuda.grid(1)
    threads = cuda.gridsize(1)
    for k in range(16):
        i = thread + k * threads
        if i < n:
            c[i] = a[i] + b[i]
