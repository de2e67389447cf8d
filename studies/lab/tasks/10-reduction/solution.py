from numba import cuda, int32

ALL = 0xFFFFFFFF


# Shuffles of Numba know int32, and not uint32.
@cuda.jit
def reduce(x, total, n):
    part = cuda.shared.array(8, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    mine = int32(x[i]) if i < n else int32(0)
    for step in (16, 8, 4, 2, 1):
        mine += cuda.shfl_down_sync(ALL, mine, step)
    if t % 32 == 0:
        part[t // 32] = mine
    cuda.syncthreads()
    if t < 32:
        mine = part[t] if t < 8 else int32(0)
        for step in (4, 2, 1):
            mine += cuda.shfl_down_sync(ALL, mine, step)
        if t == 0:
            cuda.atomic.add(total, 0, mine)
