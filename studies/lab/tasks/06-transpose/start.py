from numba import cuda


# Transposes a matrix of `rows` x `columns` numbers, which stand in one row after the other.
# Blocks have 32 x 8 threads and take 32 x 32 numbers.
@cuda.jit
def transpose(source, result, rows, columns):
    column = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    for k in range(0, 32, 8):
        row = cuda.blockIdx.y * 32 + cuda.threadIdx.y + k
        if row < rows and column < columns:
            result[column * rows + row] = source[row * columns + column]
