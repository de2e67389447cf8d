from numba import cuda, uint32


# y[i] is the sum of those x of a block of 1024 numbers that stand before i or at it.
# Hillis and Steele: 1,024 threads, ten steps, two barriers each.
@cuda.jit
def scan(x, y, n):
    sums = cuda.shared.array(1024, uint32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    sums[t] = x[i] if i < n else uint32(0)
    step = 1
    while step < 1024:
        cuda.syncthreads()
        before = sums[t - step] if t >= step else uint32(0)
        # Something is missing here.
        sums[t] += before
        step *= 2
    if i < n:
        y[i] = sums[t]
