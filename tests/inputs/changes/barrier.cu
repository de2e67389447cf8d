// The sum of a block: warps by shuffles, then the first warp.
extern "C" __global__ void sum(const float *in, float *out)
{
    __shared__ float part[32];
    int lane = threadIdx.x & 31;
    int warp = threadIdx.x >> 5;
    float value = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int half = 16; half > 0; half >>= 1) value += __shfl_down_sync(~0u, value, half);
    if (lane == 0) part[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = part[lane];
        for (int half = 16; half > 0; half >>= 1) value += __shfl_down_sync(~0u, value, half);
        if (lane == 0) out[blockIdx.x] = value;
    }
}
