// y[i] is the sum of those x of a block of 1024 numbers that stand before i or at it.
// Hillis and Steele: 1,024 threads, ten steps, two barriers each.
extern "C" __global__ void scan(const unsigned *x, unsigned *y, int n)
{
    __shared__ unsigned sums[1024];
    int i = blockIdx.x * 1024 + threadIdx.x;
    sums[threadIdx.x] = i < n ? x[i] : 0;
    for (int step = 1; step < 1024; step *= 2) {
        __syncthreads();
        unsigned before = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
        // Something is missing here.
        sums[threadIdx.x] += before;
    }
    if (i < n)
        y[i] = sums[threadIdx.x];
}
