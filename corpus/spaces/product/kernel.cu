// C = A B through shared memory: a thread sums a patch of rows times columns.
extern "C" __global__ void __launch_bounds__(threads * threads) product(const float *a, const float *b, float *c, int n) {
    __shared__ float left[threads * rows][inner + 1], right[inner][threads * columns];
    float sum[rows][columns] = {};
    int place = threadIdx.y * threads + threadIdx.x;
    int first_row = blockIdx.y * threads * rows, first_column = blockIdx.x * threads * columns;
    for (int k = 0; k < n; k += inner) {
        for (int i = place; i < threads * rows * inner; i += threads * threads)
            left[i / inner][i % inner] = a[(first_row + i / inner) * n + k + i % inner];
        for (int i = place; i < threads * columns * inner; i += threads * threads)
            right[i / (threads * columns)][i % (threads * columns)] =
                b[(k + i / (threads * columns)) * n + first_column + i % (threads * columns)];
        __syncthreads();
#pragma unroll
        for (int d = 0; d < inner; d++)
#pragma unroll
            for (int i = 0; i < rows; i++)
#pragma unroll
                for (int j = 0; j < columns; j++)
                    sum[i][j] += left[threadIdx.y + i * threads][d] * right[d][threadIdx.x + j * threads];
        __syncthreads();
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            c[(first_row + threadIdx.y + i * threads) * n + first_column + threadIdx.x + j * threads] = sum[i][j];
}
