// Tiles of 16 x 16, with loads that stay inside of the matrices and factors that are 0 outside.
#define TILE 16

extern "C" __global__ void product(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float tile_a[TILE * TILE], tile_b[TILE * TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float total = 0.0f;
    for (int tile = 0; tile < (k + TILE - 1) / TILE; ++tile) {
        const int left = min(tile * TILE + x, k - 1), top = min(tile * TILE + y, k - 1);
        const bool has_left = tile * TILE + x < k, has_top = tile * TILE + y < k;
        tile_a[y * TILE + x] = has_left ? a[min(row, m - 1) * k + left] : 0.0f;
        tile_b[y * TILE + x] = has_top ? b[top * n + min(column, n - 1)] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i)
            total = fmaf(tile_a[y * TILE + i], tile_b[i * TILE + x], total);
        __syncthreads();
    }
    if (row < m && column < n)
        c[row * n + column] = total;
}
