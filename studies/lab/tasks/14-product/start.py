from numba import cuda, float32


# C = A B, where A has m x k numbers, B k x n, and C m x n. Blocks have 16 x 16 threads.
# The numbers of a matrix stand in one row after the other.
@cuda.jit
def product(a, b, c, m, n, k):
    column, row = cuda.grid(2)
    if row >= m or column >= n:
        return
    total = float32(0)
    for i in range(k):
        total += a[row * k + i] * b[i * n + column]
    c[row * n + column] = total
