// A product of half-precision matrices on tensor cores. The pitch of the tiles is 64 numbers, 128
// bytes, so that the rows that a fragment is loaded from begin in the same bank.
#include <mma.h>
using namespace nvcuda;

constexpr int TILE = 64;
constexpr int PITCH = 64;

extern "C" __global__ void product(const half* __restrict__ a, const half* __restrict__ b,
                                   float* __restrict__ c, int n)
{
    __shared__ half left[TILE * PITCH];
    __shared__ half right[TILE * PITCH];
    int warp = threadIdx.x / 32;
    int row = warp / 4 * 16, column = warp % 4 * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int step = 0; step < n; step += TILE) {
        int at = threadIdx.x * 8, r = at / TILE, k = at % TILE;
        *reinterpret_cast<int4*>(&left[r * PITCH + k]) =
            *reinterpret_cast<const int4*>(&a[(blockIdx.y * TILE + r) * n + step + k]);
        *reinterpret_cast<int4*>(&right[r * PITCH + k]) =
            *reinterpret_cast<const int4*>(&b[(step + r) * n + blockIdx.x * TILE + k]);
        __syncthreads();
        for (int k = 0; k < TILE; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y;
            wmma::load_matrix_sync(x, left + row * PITCH + k, PITCH);
            wmma::load_matrix_sync(y, right + k * PITCH + column, PITCH);
            wmma::mma_sync(sum, x, y, sum);
        }
        __syncthreads();
    }
    wmma::store_matrix_sync(c + (blockIdx.y * TILE + row) * n + blockIdx.x * TILE + column, sum, n,
                            wmma::mem_row_major);
}
