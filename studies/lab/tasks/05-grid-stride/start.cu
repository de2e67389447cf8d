// Clamps n numbers to 0 ... 1. The grid has 264 blocks of 256 threads, whatever n is.
extern "C" __global__ void clamp01(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = fminf(fmaxf(x[i], 0.0f), 1.0f);
}
