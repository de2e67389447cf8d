from numba import cuda, float32


# Sums the rows of tiles of 32 x 32 numbers. A block has one warp, and takes a tile.
@cuda.jit
def row_sums(source, result, tiles):
    tile = cuda.shared.array((32, 32), float32)
    lane = cuda.threadIdx.x
    for row in range(32):
        tile[row, lane] = source[1024 * cuda.blockIdx.x + 32 * row + lane]
    cuda.syncthreads()
    total = float32(0)
    for column in range(32):
        total += tile[lane, column]
    result[32 * cuda.blockIdx.x + lane] = total
