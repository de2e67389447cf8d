// The sum of n values: values of a thread, and whether warps end it by shuffles.
extern "C" __global__ void __launch_bounds__(block) reduction(const float *x, float *sum, int n) {
    __shared__ float part[block];
    float mine = 0.0f;
    for (int i = 0; i < per_thread; i++) mine += x[(blockIdx.x * per_thread + i) * block + threadIdx.x];
    part[threadIdx.x] = mine;
    __syncthreads();
    for (int step = block / 2; step >= (shuffles ? 32 : 1); step /= 2) {
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
#if shuffles
    if (threadIdx.x < 32) {
        mine = part[threadIdx.x];
        for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(~0u, mine, step);
        if (threadIdx.x == 0) atomicAdd(sum, mine);
    }
#else
    if (threadIdx.x == 0) atomicAdd(sum, part[0]);
#endif
}
