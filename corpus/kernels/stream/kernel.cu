// Two of STREAM's kernels as BabelStream runs them on a GPU: double precision, one element a
// thread, blocks of 1024; the grid covers the arrays exactly.

extern "C" __global__ void stream_copy(double *c, const double *a)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i];
}

extern "C" __global__ void stream_triad(double *a, const double *b, const double *c, double scalar)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = b[i] + scalar * c[i];
}
