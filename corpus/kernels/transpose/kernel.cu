// out = transpose(in) through a tile in shared memory, so that reads and writes are both
// coalesced. The tile is read down its columns: without padding all 32 lanes meet in one bank,
// with one column of padding they spread over all banks.
//
// `in` has `height` rows of `width` elements. Blocks are 32 x 8; a thread moves four elements.

constexpr int TILE = 32;
constexpr int BLOCK_ROWS = 8;

template <int PADDING>
__device__ __forceinline__ void transpose(float *out, const float *in, int width, int height)
{
    __shared__ float tile[TILE][TILE + PADDING];

    const int in_column = blockIdx.x * TILE + threadIdx.x;
    const int in_row = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int y = 0; y < TILE; y += BLOCK_ROWS)
        if (in_column < width && in_row + y < height)
            tile[threadIdx.y + y][threadIdx.x] = in[(in_row + y) * width + in_column];
    __syncthreads();

    const int out_column = blockIdx.y * TILE + threadIdx.x;
    const int out_row = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
    for (int y = 0; y < TILE; y += BLOCK_ROWS)
        if (out_column < height && out_row + y < width)
            out[(out_row + y) * height + out_column] = tile[threadIdx.x][threadIdx.y + y];
}

extern "C" __global__ void transpose_padded(float *out, const float *in, int width, int height)
{
    transpose<1>(out, in, width, height);
}

extern "C" __global__ void transpose_unpadded(float *out, const float *in, int width, int height)
{
    transpose<0>(out, in, width, height);
}
