from numba import cuda


# Counts bytes: bins[b] is how often b occurs. The bins are 0 at the start.
@cuda.jit
def histogram(data, bins, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(bins, data[i], 1)
