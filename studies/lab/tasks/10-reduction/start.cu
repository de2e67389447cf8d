// Adds n numbers up into sum[0], which is 0 at the start.
// Threads of a block add up in shared memory: in each step, every other one that is left goes on.
extern "C" __global__ void reduce(const unsigned *x, unsigned *sum, int n)
{
    __shared__ unsigned part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        if (threadIdx.x % (2 * step) == 0)
            part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(sum, part[0]);
}
