from numba import cuda, float32


@cuda.jit
def transpose(source, result, rows, columns):
    tile = cuda.shared.array((32, 33), float32)
    across, down = cuda.threadIdx.x, cuda.threadIdx.y
    column = cuda.blockIdx.x * 32 + across
    for k in range(0, 32, 8):
        row = cuda.blockIdx.y * 32 + down + k
        if row < rows and column < columns:
            tile[down + k, across] = source[row * columns + column]
    cuda.syncthreads()
    row = cuda.blockIdx.y * 32 + across
    for k in range(0, 32, 8):
        column = cuda.blockIdx.x * 32 + down + k
        if row < rows and column < columns:
            result[column * rows + row] = tile[across, down + k]
