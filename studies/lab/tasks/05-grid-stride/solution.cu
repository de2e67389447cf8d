extern "C" __global__ void clamp01(const float *x, float *y, int n)
{
    int threads = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads)
        y[i] = fminf(fmaxf(x[i], 0.0f), 1.0f);
}
