// A product of half-precision matrices on the tensor cores. The tiles in shared memory have no
// padding, so the loads of a library's header conflict: the calls in lines 35 and 36 cause it.
// Compiled by NVRTC 12.9 (--gpu-architecture=compute_80 -lineinfo); the paths in the PTX were
// shortened.
#include <mma.h>
using namespace nvcuda;

constexpr int TILE = 64;

__device__ __forceinline__ float scaled(float value, float factor) {
    return value * factor;
}

// Called by another inlined function: a chain of three places.
__device__ __forceinline__ void scale(wmma::fragment<wmma::accumulator, 16, 16, 16, float>& sum,
                                      float factor) {
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] = scaled(sum.x[i], factor);
}

extern "C" __global__ void product(const half* a, const half* b, float* c, int n, float factor) {
    __shared__ half tile_a[TILE * TILE];
    __shared__ half tile_b[TILE * TILE];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> of_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> of_b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    int row = threadIdx.x / 32 / 4 * 16, column = threadIdx.x / 32 % 4 * 16;
    for (int k = 0; k < n; k += TILE) {
        for (int i = threadIdx.x; i < TILE * TILE; i += blockDim.x) {
            tile_a[i] = a[(blockIdx.y * TILE + i / TILE) * n + k + i % TILE];
            tile_b[i] = b[(k + i / TILE) * n + blockIdx.x * TILE + i % TILE];
        }
        __syncthreads();
        for (int step = 0; step < TILE; step += 16) {
            wmma::load_matrix_sync(of_a, &tile_a[row * TILE + step], TILE);
            wmma::load_matrix_sync(of_b, &tile_b[step * TILE + column], TILE);
            wmma::mma_sync(sum, of_a, of_b, sum);
        }
        __syncthreads();
    }
    scale(sum, factor);
    wmma::store_matrix_sync(&c[(blockIdx.y * TILE + row) * n + blockIdx.x * TILE + column], sum, n,
                            wmma::mem_row_major);
}
