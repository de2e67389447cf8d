// C = A B for square matrices stored by rows: the two variants of Stevens and Kloeckner 2020,
// section 8.3. Both have a thread per element of C in blocks of 16 x 16.
//
// - matmul_prefetch (section 2.1) splits the sum over k into tiles of 16, and fetches tiles of both
//   matrices into shared memory before it multiplies them.
// - matmul_direct sums over k as it is and reads both matrices from global memory.
//
// n is a multiple of 16.

constexpr int TILE = 16;

extern "C" __global__ void matmul_prefetch(const float *a, const float *b, float *c, int n)
{
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];

    const int i_in = threadIdx.y;
    const int j_in = threadIdx.x;
    const int i = blockIdx.y * TILE + i_in;
    const int j = blockIdx.x * TILE + j_in;

    float sum = 0.0f;
    for (int k = 0; k < n; k += TILE) {
        __syncthreads();
        a_tile[i_in][j_in] = a[i * n + k + j_in];
        b_tile[i_in][j_in] = b[(k + i_in) * n + j];
        __syncthreads();
#pragma unroll
        for (int k_in = 0; k_in < TILE; ++k_in)
            sum += a_tile[i_in][k_in] * b_tile[k_in][j_in];
    }
    c[i * n + j] = sum;
}

extern "C" __global__ void matmul_direct(const float *a, const float *b, float *c, int n)
{
    const int i = blockIdx.y * TILE + threadIdx.y;
    const int j = blockIdx.x * TILE + threadIdx.x;

    a += i * n;
    b += j;
    float sum = 0.0f;
    // Unrolled for the compiler's sake only: n is a multiple of TILE, so that nothing remains.
#pragma unroll 1
    for (int k = 0; k < n; k += TILE, a += TILE)
#pragma unroll
        for (int k_in = 0; k_in < TILE; ++k_in, b += n)
            sum += a[k_in] * *b;
    c[i * n + j] = sum;
}
