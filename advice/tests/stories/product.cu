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
    int row = warp / 2 * 32, column = warp % 2 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) wmma::fill_fragment(sums[i][j], 0.0f);
    for (int step = 0; step < n; step += TILE) {
        for (int at = threadIdx.x * 8; at < TILE * TILE; at += blockDim.x * 8) {
            int r = at / TILE, k = at % TILE;
            *reinterpret_cast<int4*>(&left[r * PITCH + k]) =
                *reinterpret_cast<const int4*>(&a[(blockIdx.y * TILE + r) * n + step + k]);
            *reinterpret_cast<int4*>(&right[r * PITCH + k]) =
                *reinterpret_cast<const int4*>(&b[(step + r) * n + blockIdx.x * TILE + k]);
        }
        __syncthreads();
        for (int k = 0; k < TILE; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y[2];
            for (int i = 0; i < 2; i++)
                wmma::load_matrix_sync(x[i], left + (row + 16 * i) * PITCH + k, PITCH);
            for (int j = 0; j < 2; j++)
                wmma::load_matrix_sync(y[j], right + k * PITCH + column + 16 * j, PITCH);
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++) wmma::mma_sync(sums[i][j], x[i], y[j], sums[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            wmma::store_matrix_sync(
                c + (blockIdx.y * TILE + row + 16 * i) * n + blockIdx.x * TILE + column + 16 * j,
                sums[i][j], n, wmma::mem_row_major);
}
