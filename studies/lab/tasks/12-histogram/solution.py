from numba import cuda, uint32


@cuda.jit
def histogram(data, bins, n):
    mine = cuda.shared.array(256, uint32)
    t = cuda.threadIdx.x
    mine[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(mine, data[i], 1)
    cuda.syncthreads()
    if mine[t] > 0:
        cuda.atomic.add(bins, t, mine[t])
