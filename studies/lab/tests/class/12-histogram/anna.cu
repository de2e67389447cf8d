extern "C" __global__ void histogram(const unsigned char *data, unsigned *bins, int n)
{
    __shared__ unsigned mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    int threads = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads)
        atomicAdd(&mine[data[i]], 1u);
    __syncthreads();
    unsigned count = mine[threadIdx.x];
    if (count > 0)
        atomicAdd(&bins[threadIdx.x], count);
}
