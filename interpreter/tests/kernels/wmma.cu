// Matrix products through CUDA's `wmma`; n is a multiple of 32, matrices are n by n and row-major.
#include <mma.h>

using namespace nvcuda;

// One warp for each 16-by-16 tile of C, four warps to a block of 32 by 32; tiles pass through
// shared memory with eight halves of padding. The accumulator is scaled and clamped element-wise.
extern "C" __global__ void product_f16(const half *a, const half *b, float *c, int n, float alpha)
{
    __shared__ __align__(32) half as[32][16 + 8];
    __shared__ __align__(32) half bs[16][32 + 8];
    int warp = threadIdx.x / 32, row = warp / 2 * 16, column = warp % 2 * 16;
    const half *a_rows = a + blockIdx.y * 32 * n, *b_columns = b + blockIdx.x * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += 16) {
        for (int i = threadIdx.x; i < 32 * 16; i += blockDim.x) {
            as[i / 16][i % 16] = a_rows[i / 16 * n + k + i % 16];
            bs[i / 32][i % 32] = b_columns[(k + i / 32) * n + i % 32];
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
        wmma::load_matrix_sync(fa, &as[row][0], 24);
        wmma::load_matrix_sync(fb, &bs[0][column], 40);
        wmma::mma_sync(sum, fa, fb, sum);
        __syncthreads();
    }
    for (int i = 0; i < sum.num_elements; i++)
        sum.x[i] = fmaxf(alpha * sum.x[i], 0.0f);
    float *tile = c + (blockIdx.y * 32 + row) * n + blockIdx.x * 32 + column;
    wmma::store_matrix_sync(tile, sum, n, wmma::mem_row_major);
}

// C is read and written column-major: C = A B + C.
extern "C" __global__ void product_s8(const signed char *a, const signed char *b, int *c, int n)
{
    wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 32, 8, 16, int> sum;
    int *tile = c + blockIdx.x * 8 * n + blockIdx.y * 32;
    wmma::load_matrix_sync(sum, tile, n, wmma::mem_col_major);
    for (int k = 0; k < n; k += 16) {
        wmma::load_matrix_sync(fa, a + blockIdx.y * 32 * n + k, n);
        wmma::load_matrix_sync(fb, b + k * n + blockIdx.x * 8, n);
        wmma::mma_sync(sum, fa, fb, sum, true);
    }
    wmma::store_matrix_sync(tile, sum, n, wmma::mem_col_major);
}

extern "C" __global__ void product_tf32(const float *a, const float *b, float *c, int n)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += 8) {
        wmma::load_matrix_sync(fa, a + blockIdx.y * 16 * n + k, n);
        wmma::load_matrix_sync(fb, b + k * n + blockIdx.x * 16, n);
        for (int i = 0; i < fa.num_elements; i++) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
        for (int i = 0; i < fb.num_elements; i++) fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
        wmma::mma_sync(sum, fa, fb, sum);
    }
    wmma::store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, wmma::mem_row_major);
}

extern "C" __global__ void product_f64(const double *a, const double *b, double *c, int n)
{
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> sum;
    wmma::fill_fragment(sum, 0.0);
    for (int k = 0; k < n; k += 4) {
        wmma::load_matrix_sync(fa, a + blockIdx.y * 8 * n + k, n);
        wmma::load_matrix_sync(fb, b + k * n + blockIdx.x * 8, n);
        wmma::mma_sync(sum, fa, fb, sum);
    }
    wmma::store_matrix_sync(c + blockIdx.y * 8 * n + blockIdx.x * 8, sum, n, wmma::mem_row_major);
}
