from numba import cuda, float32


@cuda.jit
def product(a, b, c, m, n, k):
    of_a = cuda.shared.array((16, 16), float32)
    of_b = cuda.shared.array((16, 16), float32)
    column, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for first in range(0, k, 16):
        across, down = first + tx, first + ty
        of_a[ty, tx] = a[row * k + across] if row < m and across < k else float32(0)
        of_b[ty, tx] = b[down * n + column] if down < k and column < n else float32(0)
        cuda.syncthreads()
        for i in range(16):
            total += of_a[ty, i] * of_b[i, tx]
        cuda.syncthreads()
    if row < m and column < n:
        c[row * n + column] = total
