// The sums of rows of 1024 numbers, a block for each row, step by step.
constexpr int ROW = 1024;

// At distance d every (2 d)-th thread adds. The remainder takes longest.
extern "C" __global__ void divergent(const float* __restrict__ in, float* __restrict__ sums)
{
    __shared__ float part[ROW];
    int t = threadIdx.x;
    part[t] = in[blockIdx.x * ROW + t];
    __syncthreads();
    for (int d = 1; d < ROW; d *= 2) {
        if (t % (2 * d) == 0) part[t] += part[t + d];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}

// The sum of `part` by its first threads, half as many in each round.
template <int THREADS>
__device__ void halve(float* part, float* sums)
{
    int t = threadIdx.x;
    __syncthreads();
    for (int d = THREADS / 2; d > 0; d /= 2) {
        if (t < d) part[t] += part[t + d];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}

// Whole warps have nothing to do.
extern "C" __global__ void sequential(const float* __restrict__ in, float* __restrict__ sums)
{
    __shared__ float part[ROW];
    part[threadIdx.x] = in[blockIdx.x * ROW + threadIdx.x];
    halve<ROW>(part, sums);
}

constexpr int THREADS = 128;

// The sum of eight numbers, loaded one by one.
__device__ float eight(const float* __restrict__ in)
{
    const float* row = in + blockIdx.x * ROW + threadIdx.x;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < ROW; i += THREADS) sum += row[i];
    return sum;
}

// Eight numbers of each thread.
extern "C" __global__ void several(const float* __restrict__ in, float* __restrict__ sums)
{
    __shared__ float part[THREADS];
    part[threadIdx.x] = eight(in);
    halve<THREADS>(part, sums);
}

// The sum of the block's values by shuffles, and one barrier.
__device__ void shuffled(float sum, float* sums)
{
    __shared__ float of_warps[THREADS / 32];
#pragma unroll
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < THREADS / 32 ? of_warps[threadIdx.x] : 0;
#pragma unroll
        for (int d = THREADS / 64; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
        if (threadIdx.x == 0) sums[blockIdx.x] = sum;
    }
}

// Shuffles instead of barriers.
extern "C" __global__ void shuffles(const float* __restrict__ in, float* __restrict__ sums)
{
    shuffled(eight(in), sums);
}

// Two vectors instead of eight words.
extern "C" __global__ void vectors(const float* __restrict__ in, float* __restrict__ sums)
{
    const float4* row = reinterpret_cast<const float4*>(in + blockIdx.x * ROW) + threadIdx.x;
    float4 a = row[0], b = row[THREADS];
    shuffled(((a.x + a.y) + (a.z + a.w)) + ((b.x + b.y) + (b.z + b.w)), sums);
}
