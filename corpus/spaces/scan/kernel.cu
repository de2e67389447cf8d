// The running sum in each block: values of a thread, and a scan of the threads' sums.
extern "C" __global__ void __launch_bounds__(block) scan(const float *in, float *out) {
    __shared__ float sums[block];
    const float *from = in + (blockIdx.x * block + threadIdx.x) * per_thread;
    float mine[per_thread], sum = 0.0f;
#pragma unroll
    for (int i = 0; i < per_thread; i++) mine[i] = sum += from[i];
#if shuffles
    int lane = threadIdx.x % 32;
    float total = sum;
    for (int step = 1; step < 32; step *= 2) {
        float other = __shfl_up_sync(~0u, total, step);
        if (lane >= step) total += other;
    }
    if (lane == 31) sums[threadIdx.x / 32] = total;
    __syncthreads();
    float before = total - sum;
    for (int warp = 0; warp < threadIdx.x / 32; warp++) before += sums[warp];
#else
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 1; step < block; step *= 2) {
        float other = threadIdx.x >= step ? sums[threadIdx.x - step] : 0.0f;
        __syncthreads();
        sums[threadIdx.x] += other;
        __syncthreads();
    }
    float before = sums[threadIdx.x] - sum;
#endif
    float *to = out + (blockIdx.x * block + threadIdx.x) * per_thread;
#pragma unroll
    for (int i = 0; i < per_thread; i++) to[i] = before + mine[i];
}
