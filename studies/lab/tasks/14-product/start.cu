// C = A B, where A has m x k numbers, B k x n, and C m x n. Blocks have 16 x 16 threads.
extern "C" __global__ void product(const float *a, const float *b, float *c, int m, int n, int k)
{
    int row = blockIdx.y * 16 + threadIdx.y;
    int column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
        sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}
