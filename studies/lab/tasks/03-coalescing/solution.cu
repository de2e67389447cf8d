extern "C" __global__ void add(const float *a, const float *b, float *c, int n)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    for (int k = 0; k < 16; ++k) {
        int i = thread + k * threads;
        if (i < n)
            c[i] = a[i] + b[i];
    }
}
