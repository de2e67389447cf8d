// One fault in each kernel.
extern "C" __global__ void missing_barrier(unsigned *out) {
    __shared__ unsigned tile[64];
    tile[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

extern "C" __global__ void past_the_end(unsigned *out) {
    out[threadIdx.x + 1] = threadIdx.x;
}

extern "C" __global__ void not_written(unsigned *out) {
    __shared__ unsigned tile[64];
    if (threadIdx.x > 0) tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] += tile[threadIdx.x];
}

extern "C" __global__ void early_exit(unsigned *out) {
    if (threadIdx.x >= 50) return;
    out[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = 2;
}
