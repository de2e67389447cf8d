from numba import cuda, float32


@cuda.jit
def mean17(x, y, n):
    near = cuda.shared.array(256 + 16, float32)
    first = cuda.blockIdx.x * 256 - 8
    for t in range(cuda.threadIdx.x, 256 + 16, 256):
        near[t] = x[first + t] if first + t >= 0 and first + t < n else float32(0)
    cuda.syncthreads()
    i = cuda.grid(1)
    if i >= n:
        return
    total = float32(0)
    for k in range(17):
        total += near[cuda.threadIdx.x + k]
    y[i] = total / float32(17)
