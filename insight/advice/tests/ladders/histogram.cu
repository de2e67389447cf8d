// Counts bytes, step by step. Each block takes its part in a loop over the grid; n is a multiple of 16.
using Byte = unsigned char;

// All blocks add to the same 256 words.
extern "C" __global__ void everywhere(const Byte* __restrict__ in, unsigned* bins, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i]], 1);
}

__device__ void clear(unsigned* own)
{
    own[threadIdx.x] = 0;
    __syncthreads();
}

__device__ void flush(const unsigned* own, unsigned* bins)
{
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// Each block adds to words of its own in shared memory.
extern "C" __global__ void of_blocks(const Byte* __restrict__ in, unsigned* bins, int n)
{
    __shared__ unsigned own[256];
    clear(own);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[in[i]], 1);
    flush(own, bins);
}

// Sixteen bytes in one access.
extern "C" __global__ void vectors(const Byte* __restrict__ in, unsigned* bins, int n)
{
    __shared__ unsigned own[256];
    clear(own);
    const uint4* from = reinterpret_cast<const uint4*>(in);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 16; i += gridDim.x * blockDim.x) {
        uint4 all = from[i];
        const unsigned words[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
        for (int j = 0; j < 16; j++) atomicAdd(&own[words[j / 4] >> j % 4 * 8 & 255], 1);
    }
    flush(own, bins);
}
