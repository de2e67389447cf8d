from numba import cuda, float32


@cuda.jit
def row_sums(source, result, tiles):
    tile = cuda.shared.array((32, 33), float32)
    lane = cuda.threadIdx.x
    for row in range(32):
        tile[row, lane] = source[1024 * cuda.blockIdx.x + 32 * row + lane]
    cuda.syncthreads()
    total = float32(0)
    for column in range(32):
        total += tile[lane, column]
    result[32 * cuda.blockIdx.x + lane] = total
