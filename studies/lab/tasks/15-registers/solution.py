from numba import cuda, float32, uint32


@cuda.jit
def product(a, b, c, m, n, k):
    of_a = cuda.shared.array((16, 65), float32)
    of_b = cuda.shared.array((16, 64), float32)
    # Without a sign: Numba looks at each index with one, which may count from the end.
    tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
    total = cuda.local.array((4, 4), float32)
    left = cuda.local.array(4, float32)
    right = cuda.local.array(4, float32)
    for p in range(4):
        for q in range(4):
            total[p, q] = 0
    for first in range(0, k, 16):
        for t in range(ty * 16 + tx, 1024, 256):
            across, down = first + t % 16, first + t // 64
            row, column = cuda.blockIdx.y * 64 + t // 16, cuda.blockIdx.x * 64 + t % 64
            of_a[t % 16, t // 16] = a[row * k + across] if row < m and across < k else float32(0)
            of_b[t // 64, t % 64] = b[down * n + column] if down < k and column < n else float32(0)
        cuda.syncthreads()
        for i in range(16):
            for p in range(4):
                left[p] = of_a[i, ty + 16 * p]
                right[p] = of_b[i, tx + 16 * p]
            for p in range(4):
                for q in range(4):
                    total[p, q] += left[p] * right[q]
        cuda.syncthreads()
    for p in range(4):
        for q in range(4):
            row = cuda.blockIdx.y * 64 + ty + 16 * p
            column = cuda.blockIdx.x * 64 + tx + 16 * q
            if row < m and column < n:
                c[row * n + column] = total[p, q]
