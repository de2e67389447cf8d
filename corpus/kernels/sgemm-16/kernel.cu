// C = A * B in single precision, after Konstantinidis 2017, sections 4.4 and 5.1.3.
//
// A is m x n, B is n x n and C is m x n, all row-major; m and n are multiples of the tile.
// One thread makes one element of C. A block copies a tile of A and a tile of B into shared
// memory, one element of each a thread, and works through them with a fully unrolled loop.
//
// The variant with 16x16 blocks that the thesis made for an AMD GPU, whose blocks end at 256
// threads (section 6.1.3, table 6.4).

constexpr int TILE = 16;

extern "C" __global__ void sgemm_16(const float *a, const float *b, float *c, int n)
{
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int column = blockIdx.x * TILE + tx;

    float sum = 0.0f;
    for (int first = 0; first < n; first += TILE) {
        a_tile[ty][tx] = a[row * n + first + tx];
        b_tile[ty][tx] = b[(first + ty) * n + column];
        __syncthreads();

        // A row of a_tile is read at consecutive addresses, so ptxas merges four loads into one
        // 128-bit load; b_tile is read down a column and is not merged. The thesis names these
        // merged loads as the cause of its largest errors (section 5.2.3).
#pragma unroll
        for (int k = 0; k < TILE; k++)
            sum += a_tile[ty][k] * b_tile[k][tx];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
