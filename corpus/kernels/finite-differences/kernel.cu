// A five-point stencil in two dimensions: the two variants of Stevens and Kloeckner 2020, section
// 8.5.
//
//     result[i, j] = u[i, j + 1] + u[i + 1, j] - 4 u[i + 1, j + 1] + u[i + 1, j + 2] + u[i + 2, j + 1]
//
// A block fetches a tile of u as large as itself, 16 x 16 or 18 x 18, one element a thread, and
// computes the results in the interior of the tile; threads in excess of them idle. u has n + 2 rows
// of n + 2, and n is a multiple of 14 or 16.

template <int TILE>
__device__ __forceinline__ void difference(const float *u, float *result, int n)
{
    constexpr int INNER = TILE - 2;
    __shared__ float tile[TILE][TILE];

    const int i_in = threadIdx.y;
    const int j_in = threadIdx.x;
    const int i = blockIdx.y * INNER + i_in;
    const int j = blockIdx.x * INNER + j_in;

    tile[i_in][j_in] = u[i * (n + 2) + j];
    __syncthreads();
    if (i_in < INNER && j_in < INNER)
        result[i * n + j] = tile[i_in][j_in + 1] + tile[i_in + 1][j_in]
                          - 4.0f * tile[i_in + 1][j_in + 1] + tile[i_in + 1][j_in + 2]
                          + tile[i_in + 2][j_in + 1];
}

extern "C" __global__ void finite_differences_16(const float *u, float *result, int n)
{
    difference<16>(u, result, n);
}

extern "C" __global__ void finite_differences_18(const float *u, float *result, int n)
{
    difference<18>(u, result, n);
}
