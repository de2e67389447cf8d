// The transpose of a square matrix, step by step. Its side is a multiple of 32.
constexpr int TILE = 32;

// Reads follow the rows, writes follow the columns.
extern "C" __global__ void naive(const float* __restrict__ in, float* __restrict__ out, int side)
{
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    out[x * side + y] = in[y * side + x];
}

template <int PITCH, int ROWS>
__device__ void through_tile(const float* __restrict__ in, float* __restrict__ out, int side)
{
    __shared__ float tile[TILE][PITCH];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += ROWS) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * side + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += ROWS) out[(y + j) * side + x] = tile[threadIdx.x][threadIdx.y + j];
}

// Both follow the rows. The columns of the tile lie in one bank.
extern "C" __global__ void tiled(const float* __restrict__ in, float* __restrict__ out, int side)
{
    through_tile<TILE, 32>(in, out, side);
}

// A bank for each lane.
extern "C" __global__ void padded(const float* __restrict__ in, float* __restrict__ out, int side)
{
    through_tile<TILE + 1, 32>(in, out, side);
}

// Four elements of each thread.
extern "C" __global__ void coarse(const float* __restrict__ in, float* __restrict__ out, int side)
{
    through_tile<TILE + 1, 8>(in, out, side);
}
