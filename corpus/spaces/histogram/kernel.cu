// 256 bins, in some copies in shared memory that warps share.
extern "C" __global__ void __launch_bounds__(block) histogram(const unsigned *values, unsigned *bins) {
    __shared__ unsigned own[copies][256];
    for (int i = threadIdx.x; i < copies * 256; i += block) own[i / 256][i % 256] = 0;
    __syncthreads();
    for (int i = 0; i < per_thread; i++) {
        unsigned value = values[(blockIdx.x * per_thread + i) * block + threadIdx.x];
        atomicAdd(&own[threadIdx.x / 32 % copies][value & 255], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += block) {
        unsigned sum = 0;
        for (int copy = 0; copy < copies; copy++) sum += own[copy][i];
        atomicAdd(bins + i, sum);
    }
}
