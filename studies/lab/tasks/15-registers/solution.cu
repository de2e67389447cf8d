extern "C" __global__ void product(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float of_a[16][65], of_b[16][64];
    int thread = threadIdx.y * 16 + threadIdx.x;
    float sum[4][4] = {};
    for (int first = 0; first < k; first += 16) {
        for (int t = thread; t < 1024; t += 256) {
            int across = first + t % 16, down = first + t / 64;
            int of_row = blockIdx.y * 64 + t / 16, of_column = blockIdx.x * 64 + t % 64;
            of_a[t % 16][t / 16] = of_row < m && across < k ? a[of_row * k + across] : 0.0f;
            of_b[t / 64][t % 64] = down < k && of_column < n ? b[down * n + of_column] : 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < 16; ++i) {
            float left[4], right[4];
            for (int p = 0; p < 4; ++p) {
                left[p] = of_a[i][threadIdx.y + 16 * p];
                right[p] = of_b[i][threadIdx.x + 16 * p];
            }
            for (int p = 0; p < 4; ++p)
                for (int q = 0; q < 4; ++q)
                    sum[p][q] += left[p] * right[q];
        }
        __syncthreads();
    }
    for (int p = 0; p < 4; ++p)
        for (int q = 0; q < 4; ++q) {
            int row = blockIdx.y * 64 + threadIdx.y + 16 * p;
            int column = blockIdx.x * 64 + threadIdx.x + 16 * q;
            if (row < m && column < n)
                c[row * n + column] = sum[p][q];
        }
}
