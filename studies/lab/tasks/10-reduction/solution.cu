extern "C" __global__ void reduce(const unsigned *x, unsigned *sum, int n)
{
    __shared__ unsigned part[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned mine = i < n ? x[i] : 0;
    for (int step = 16; step > 0; step /= 2)
        mine += __shfl_down_sync(0xffffffff, mine, step);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x < 32) {
        mine = threadIdx.x < 8 ? part[threadIdx.x] : 0;
        for (int step = 4; step > 0; step /= 2)
            mine += __shfl_down_sync(0xffffffff, mine, step);
        if (threadIdx.x == 0)
            atomicAdd(sum, mine);
    }
}
