// The logarithm of the sum of the exponentials of each block's numbers. In each step the threads
// whose number is a multiple of twice the stride work, so a warp has fewer of them from step to step.
extern "C" __global__ void reduction(const float* __restrict__ in, float* __restrict__ sums)
{
    __shared__ float part[512];
    int i = threadIdx.x;
    part[i] = in[blockIdx.x * blockDim.x + i];
    __syncthreads();
    for (int stride = 1; stride < blockDim.x; stride *= 2) {
        if ((i & (2 * stride - 1)) == 0) {
            float x = part[i], y = part[i + stride];
            part[i] = fmaxf(x, y) + log1pf(expf(-fabsf(x - y)));
        }
        __syncthreads();
    }
    if (i == 0) sums[blockIdx.x] = part[0];
}
