// Rows of 1,024 values: threads of a row, and rows of a block.
extern "C" __global__ void __launch_bounds__(threads * rows) softmax(const float *in, float *out) {
    const int width = 1024, values = width / threads;
    const float *row = in + (blockIdx.x * rows + threadIdx.y) * width;
    float mine[values], most = -1e30f, sum = 0.0f;
#pragma unroll
    for (int i = 0; i < values; i++) most = fmaxf(most, mine[i] = row[i * threads + threadIdx.x]);
#if threads == 32
    for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
#pragma unroll
    for (int i = 0; i < values; i++) sum += mine[i] = __expf(mine[i] - most);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
#else
    __shared__ float part[rows][threads];
    part[threadIdx.y][threadIdx.x] = most;
    __syncthreads();
    for (int step = threads / 2; step > 0; step /= 2) {
        if (threadIdx.x < step)
            part[threadIdx.y][threadIdx.x] = fmaxf(part[threadIdx.y][threadIdx.x], part[threadIdx.y][threadIdx.x + step]);
        __syncthreads();
    }
    most = part[threadIdx.y][0];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < values; i++) sum += mine[i] = __expf(mine[i] - most);
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    for (int step = threads / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) part[threadIdx.y][threadIdx.x] += part[threadIdx.y][threadIdx.x + step];
        __syncthreads();
    }
    sum = part[threadIdx.y][0];
#endif
    float *to = out + (blockIdx.x * rows + threadIdx.y) * width;
#pragma unroll
    for (int i = 0; i < values; i++) to[i * threads + threadIdx.x] = mine[i] / sum;
}
