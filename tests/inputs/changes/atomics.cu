// A histogram: bins of the block first, then those of all.
extern "C" __global__ void count(const unsigned *in, unsigned *bins)
{
    __shared__ unsigned mine[256];
    int first = blockIdx.x * 2048 + threadIdx.x;
    mine[threadIdx.x] = 0;
    __syncthreads();
    for (int k = 0; k < 8; ++k) {
        atomicAdd(&mine[in[first + k * 256] & 255], 1u);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}
