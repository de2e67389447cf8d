from numba import cuda, uint32


# Adds n numbers up into total[0], which is 0 at the start.
# Threads of a block add up in shared memory: in each step, every other one that is left goes on.
@cuda.jit
def reduce(x, total, n):
    part = cuda.shared.array(256, uint32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = x[i] if i < n else uint32(0)
    cuda.syncthreads()
    step = 1
    while step < 256:
        if t % (2 * step) == 0:
            part[t] += part[t + step]
        cuda.syncthreads()
        step *= 2
    if t == 0:
        cuda.atomic.add(total, 0, part[0])
