// Counts samples from [0, 1) into 256 bins of equal width. A block counts in shared memory with
// atomics and then adds its bins to the global ones. `bins` must be zero before the launch.

constexpr int BINS = 256;

extern "C" __global__ void histogram(const float *samples, unsigned *bins, unsigned n)
{
    __shared__ unsigned block_bins[BINS];
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x)
        block_bins[bin] = 0;
    __syncthreads();

    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        // Scaling by a power of two is exact, so the bin does not depend on rounding.
        const int bin = (int)(samples[i] * BINS);
        atomicAdd(&block_bins[min(max(bin, 0), BINS - 1)], 1u);
    }
    __syncthreads();

    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x)
        atomicAdd(&bins[bin], block_bins[bin]);
}
