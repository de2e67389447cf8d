// Adds two vectors. Each thread takes 16 numbers.
extern "C" __global__ void add(const float *a, const float *b, float *c, int n)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 16; ++k) {
        int i = thread * 16 + k;
        if (i < n)
            c[i] = a[i] + b[i];
    }
}
