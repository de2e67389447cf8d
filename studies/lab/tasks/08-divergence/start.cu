// Even numbers of x get the sum of a series, odd ones a product: y[i] is f(x[i]) or g(x[i]).
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

extern "C" __global__ void alternate(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (i % 2 == 0)
            y[i] = series(x[i]);
        else
            y[i] = product(x[i]);
    }
}
