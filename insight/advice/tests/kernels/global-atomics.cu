// The number of negative numbers. In the first kernel each warp adds to the same word, in the second
// each block does.
extern "C" __global__ void planted(const float* __restrict__ in, unsigned* count)
{
    unsigned found = 0;
    for (int i = 0; i < 16; i++) {
        float x = in[(blockIdx.x * 16 + i) * blockDim.x + threadIdx.x];
        found = __popc(__ballot_sync(~0u, x < 0));
        if (threadIdx.x % 32 == 0) atomicAdd(count, found);
    }
}

extern "C" __global__ void mended(const float* __restrict__ in, unsigned* count)
{
    __shared__ unsigned of_block;
    if (threadIdx.x == 0) of_block = 0;
    __syncthreads();
    unsigned found = 0;
    for (int i = 0; i < 16; i++)
        found += in[(blockIdx.x * 16 + i) * blockDim.x + threadIdx.x] < 0;
    found = __reduce_add_sync(~0u, found);
    if (threadIdx.x % 32 == 0) atomicAdd(&of_block, found);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(count, of_block);
}
