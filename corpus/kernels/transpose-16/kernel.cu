// Copies and transposes of a matrix, one element a thread: the steps that CUDA's sample "transpose"
// goes through. Tiles and blocks are 16 x 16.
//
// `in` has `height` rows of `width` elements; both are multiples of 16.

constexpr int TILE = 16;

extern "C" __global__ void copy_direct(float *out, const float *in, int width, int height)
{
    const int column = blockIdx.x * TILE + threadIdx.x;
    const int row = blockIdx.y * TILE + threadIdx.y;
    out[row * width + column] = in[row * width + column];
}

extern "C" __global__ void copy_shared(float *out, const float *in, int width, int height)
{
    __shared__ float tile[TILE][TILE];
    const int column = blockIdx.x * TILE + threadIdx.x;
    const int row = blockIdx.y * TILE + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[row * width + column];
    __syncthreads();
    out[row * width + column] = tile[threadIdx.y][threadIdx.x];
}

// A half-warp writes down a column: sixteen lines for sixteen elements.
extern "C" __global__ void transpose_direct(float *out, const float *in, int width, int height)
{
    const int column = blockIdx.x * TILE + threadIdx.x;
    const int row = blockIdx.y * TILE + threadIdx.y;
    out[column * height + row] = in[row * width + column];
}

template <int PADDING>
__device__ __forceinline__ void transpose_tile(float *out, const float *in, int width, int height)
{
    __shared__ float tile[TILE][TILE + PADDING];
    const int in_column = blockIdx.x * TILE + threadIdx.x;
    const int in_row = blockIdx.y * TILE + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[in_row * width + in_column];
    __syncthreads();
    const int out_column = blockIdx.y * TILE + threadIdx.x;
    const int out_row = blockIdx.x * TILE + threadIdx.y;
    out[out_row * height + out_column] = tile[threadIdx.x][threadIdx.y];
}

// Down columns of the tile: the lanes of a warp meet in four of 32 banks, eight in each.
extern "C" __global__ void transpose_unpadded_16(float *out, const float *in, int width, int height)
{
    transpose_tile<0>(out, in, width, height);
}

extern "C" __global__ void transpose_padded_16(float *out, const float *in, int width, int height)
{
    transpose_tile<1>(out, in, width, height);
}
