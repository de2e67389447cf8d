// A sparse matrix with 32 values in each row, times a vector: threads of a row, rows of a thread.
extern "C" __global__ void __launch_bounds__(block) sparse(const float *values, const int *columns, const float *x, float *y, int n) {
    int group = (blockIdx.x * block + threadIdx.x) / threads, lane = threadIdx.x % threads;
    for (int i = 0; i < rows; i++) {
        int row = group * rows + i;
        float sum = 0.0f;
#pragma unroll
        for (int k = lane; k < 32; k += threads) {
#if by_column
            int at = k * n + row;
#else
            int at = row * 32 + k;
#endif
            sum += values[at] * x[columns[at] % n];
        }
        for (int step = threads / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
        if (lane == 0) y[row] = sum;
    }
}
