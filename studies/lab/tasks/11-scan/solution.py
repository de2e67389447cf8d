from numba import cuda, int32

ALL = 0xFFFFFFFF


# Shuffles of Numba know int32, and not uint32.
@cuda.jit(device=True)
def scanned(mine, lane):
    for step in (1, 2, 4, 8, 16):
        before = cuda.shfl_up_sync(ALL, mine, step)
        if lane >= step:
            mine += before
    return mine


# Each warp scans 32 numbers by shuffles, and the first warp scans the sums of the warps.
@cuda.jit
def scan(x, y, n):
    of_warp = cuda.shared.array(32, int32)
    i = cuda.grid(1)
    lane, warp = cuda.threadIdx.x % 32, cuda.threadIdx.x // 32
    mine = scanned(int32(x[i]) if i < n else int32(0), lane)
    if lane == 31:
        of_warp[warp] = mine
    cuda.syncthreads()
    if warp == 0:
        of_warp[lane] = scanned(of_warp[lane], lane)
    cuda.syncthreads()
    if warp > 0:
        mine += of_warp[warp - 1]
    if i < n:
        y[i] = mine
