// y[i] is the mean of x[i - 8] ... x[i + 8]. Numbers outside of x count as 0.
extern "C" __global__ void mean17(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0.0f;
    for (int k = -8; k <= 8; ++k)
        if (i + k >= 0 && i + k < n)
            sum += x[i + k];
    y[i] = sum / 17.0f;
}
