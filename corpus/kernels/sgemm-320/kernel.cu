// C = A * B in single precision, as CUDA's sample "matrixMul" computes it: tiles of 32 x 32 in
// shared memory, one element of C a thread.
//
// A is m x k, B is k x n and C is m x n, all row-major; all extents are multiples of the tile.

constexpr int TILE = 32;

extern "C" __global__ void sgemm_tiled(const float *a, const float *b, float *c, int n, int k)
{
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int column = blockIdx.x * TILE + tx;

    float sum = 0.0f;
    for (int first = 0; first < k; first += TILE) {
        a_tile[ty][tx] = a[row * k + first + tx];
        b_tile[ty][tx] = b[(first + ty) * n + column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++)
            sum += a_tile[ty][i] * b_tile[i][tx];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
