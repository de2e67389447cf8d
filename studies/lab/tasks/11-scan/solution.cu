// Each warp scans 32 numbers by shuffles, and the first warp scans the sums of the warps.
extern "C" __global__ void scan(const unsigned *x, unsigned *y, int n)
{
    __shared__ unsigned of_warp[32];
    int i = blockIdx.x * 1024 + threadIdx.x;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned sum = i < n ? x[i] : 0;
    for (int step = 1; step < 32; step *= 2) {
        unsigned before = __shfl_up_sync(0xffffffff, sum, step);
        if (lane >= step)
            sum += before;
    }
    if (lane == 31)
        of_warp[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        unsigned all = of_warp[lane];
        for (int step = 1; step < 32; step *= 2) {
            unsigned before = __shfl_up_sync(0xffffffff, all, step);
            if (lane >= step)
                all += before;
        }
        of_warp[lane] = all;
    }
    __syncthreads();
    if (warp > 0)
        sum += of_warp[warp - 1];
    if (i < n)
        y[i] = sum;
}
