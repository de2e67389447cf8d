from numba import cuda, float32


# Smooths each block's 256 numbers by their neighbours within the block.
@cuda.jit
def smooth(x, y, n):
    # Room for the numbers, and for all intermediate results that one may want to look at.
    stage = cuda.shared.array((48, 256), float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    stage[0, t] = x[i] if i < n else float32(0)
    cuda.syncthreads()
    for k in range(1, 48):
        left = stage[k - 1, max(t - 1, 0)]
        right = stage[k - 1, min(t + 1, 255)]
        stage[k, t] = float32(0.25) * left + float32(0.5) * stage[k - 1, t] + float32(0.25) * right
        cuda.syncthreads()
    if i < n:
        y[i] = stage[47, t]
