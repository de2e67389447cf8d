__device__ float series(float x)
{
    float sum = 0.0f;
    for (int k = 0; k < 64; ++k)
        sum = sum * x + 0.5f;
    return sum;
}

__device__ float product(float x)
{
    float p = 1.0f;
    for (int k = 0; k < 64; ++k)
        p *= 1.0f - x * x * 0.01f;
    return p;
}

// A pair of warps takes 64 numbers: the first warp the even ones, the second the odd ones.
extern "C" __global__ void alternate(const float *x, float *y, int n)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = thread % 32, is_odd = thread / 32 % 2;
    int i = thread / 64 * 64 + 2 * lane + is_odd;
    if (i < n) {
        if (is_odd)
            y[i] = product(x[i]);
        else
            y[i] = series(x[i]);
    }
}
