extern "C" __global__ void mean17(const float *x, float *y, int n)
{
    __shared__ float near[256 + 16];
    int first = blockIdx.x * 256 - 8;
    for (int t = threadIdx.x; t < 256 + 16; t += 256)
        near[t] = first + t >= 0 && first + t < n ? x[first + t] : 0.0f;
    __syncthreads();
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0.0f;
    for (int k = 0; k < 17; ++k)
        sum += near[threadIdx.x + k];
    y[i] = sum / 17.0f;
}
