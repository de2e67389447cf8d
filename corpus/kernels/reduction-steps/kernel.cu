// One sum for each block of an array: four of the steps of M. Harris, "Optimizing parallel reduction
// in CUDA" (2007), in single precision. Blocks have 256 threads and the grid covers the array exactly.

constexpr int THREADS = 256;

// Step 1: at distance d every (2 d)-th thread adds, so that all warps stay busy with few lanes.
extern "C" __global__ void sum_divergent(const float *data, float *sums)
{
    __shared__ float partial[THREADS];
    const unsigned t = threadIdx.x;
    partial[t] = data[blockIdx.x * THREADS + t];
    __syncthreads();
    for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
        if (t % (2 * distance) == 0)
            partial[t] += partial[t + distance];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = partial[0];
}

// Step 2: the first threads add, at strides that conflict in the banks.
extern "C" __global__ void sum_strided(const float *data, float *sums)
{
    __shared__ float partial[THREADS];
    const unsigned t = threadIdx.x;
    partial[t] = data[blockIdx.x * THREADS + t];
    __syncthreads();
    for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
        const unsigned slot = 2 * distance * t;
        if (slot < blockDim.x)
            partial[slot] += partial[slot + distance];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = partial[0];
}

// Step 3: the first threads add their neighbours half an array away: no conflicts.
extern "C" __global__ void sum_sequential(const float *data, float *sums)
{
    __shared__ float partial[THREADS];
    const unsigned t = threadIdx.x;
    partial[t] = data[blockIdx.x * THREADS + t];
    __syncthreads();
    for (unsigned distance = blockDim.x / 2; distance > 0; distance /= 2) {
        if (t < distance)
            partial[t] += partial[t + distance];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = partial[0];
}

// Step 7: every thread first adds 128 elements; the last warp needs no barriers.
extern "C" __global__ void sum_many(const float *data, float *sums)
{
    constexpr int EACH = 128;
    __shared__ float partial[THREADS];
    const unsigned t = threadIdx.x;
    const float *const mine = data + blockIdx.x * (THREADS * EACH) + t;
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < EACH; i++)
        sum += mine[i * THREADS];
    partial[t] = sum;
    __syncthreads();
    if (t < 128)
        partial[t] += partial[t + 128];
    __syncthreads();
    if (t < 64)
        partial[t] += partial[t + 64];
    __syncthreads();
    if (t < 32) {
        volatile float *const warp = partial;
#pragma unroll
        for (int distance = 32; distance > 0; distance /= 2) {
            const float other = warp[t + distance];
            __syncwarp();
            warp[t] += other;
            __syncwarp();
        }
    }
    if (t == 0)
        sums[blockIdx.x] = partial[0];
}
