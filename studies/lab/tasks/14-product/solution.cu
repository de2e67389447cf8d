extern "C" __global__ void product(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float of_a[16][16], of_b[16][16];
    int row = blockIdx.y * 16 + threadIdx.y;
    int column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int first = 0; first < k; first += 16) {
        int across = first + threadIdx.x, down = first + threadIdx.y;
        of_a[threadIdx.y][threadIdx.x] = row < m && across < k ? a[row * k + across] : 0.0f;
        of_b[threadIdx.y][threadIdx.x] = down < k && column < n ? b[down * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; ++i)
            sum += of_a[threadIdx.y][i] * of_b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n)
        c[row * n + column] = sum;
}
