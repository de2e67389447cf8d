// A copy by a grid that does not grow with the data, as CUDA's sample "alignedTypes" makes it: 64
// blocks of 256 threads go through the array in strides of the grid.

extern "C" __global__ void copy_in_strides(unsigned *out, const unsigned *in, int n)
{
    const int threads = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads)
        out[i] = in[i];
}
