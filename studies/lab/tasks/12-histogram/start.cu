// Counts bytes: bins[b] is how often b occurs. The bins are 0 at the start.
extern "C" __global__ void histogram(const unsigned char *data, unsigned *bins, int n)
{
    int threads = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads)
        atomicAdd(&bins[data[i]], 1u);
}
