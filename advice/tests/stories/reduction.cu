// The sum of each block's numbers. In each step the threads whose number is a multiple of twice the
// stride add, so a warp has fewer of them from step to step.
extern "C" __global__ void reduction(const float* __restrict__ in, float* __restrict__ sums)
{
    __shared__ float part[512];
    int i = threadIdx.x;
    part[i] = in[blockIdx.x * blockDim.x + i];
    __syncthreads();
    for (int stride = 1; stride < blockDim.x; stride *= 2) {
        if (i % (2 * stride) == 0)
            part[i] += part[i + stride];
        __syncthreads();
    }
    if (i == 0) sums[blockIdx.x] = part[0];
}
