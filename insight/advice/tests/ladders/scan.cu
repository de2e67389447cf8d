// Inclusive sums of rows of 1024 numbers, a block for each row, step by step.
constexpr int ROW = 1024;

// In each round all threads add what lies a distance before them.
extern "C" __global__ void rounds(const float* __restrict__ in, float* __restrict__ out)
{
    __shared__ float part[ROW];
    int t = threadIdx.x;
    part[t] = in[blockIdx.x * ROW + t];
    for (int d = 1; d < ROW; d *= 2) {
        __syncthreads();
        float before = t >= d ? part[t - d] : 0;
        __syncthreads();
        part[t] += before;
    }
    out[blockIdx.x * ROW + t] = part[t];
}

// The sum up to this thread, by shuffles and two barriers.
template <int THREADS>
__device__ float up_to(float sum)
{
    __shared__ float of_warps[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        float before = __shfl_up_sync(~0u, sum, d);
        if (lane >= d) sum += before;
    }
    if (lane == 31) of_warps[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        float all = lane < THREADS / 32 ? of_warps[lane] : 0;
#pragma unroll
        for (int d = 1; d < THREADS / 32; d *= 2) {
            float before = __shfl_up_sync(~0u, all, d);
            if (lane >= d) all += before;
        }
        of_warps[lane] = all;
    }
    __syncthreads();
    return warp > 0 ? sum + of_warps[warp - 1] : sum;
}

// Shuffles instead of barriers.
extern "C" __global__ void shuffles(const float* __restrict__ in, float* __restrict__ out)
{
    int at = blockIdx.x * ROW + threadIdx.x;
    out[at] = up_to<ROW>(in[at]);
}

// A vector of four numbers of each thread.
extern "C" __global__ void several(const float* __restrict__ in, float* __restrict__ out)
{
    int at = blockIdx.x * (ROW / 4) + threadIdx.x;
    float4 four = reinterpret_cast<const float4*>(in)[at];
    four.y += four.x, four.z += four.y, four.w += four.z;
    float before = up_to<ROW / 4>(four.w) - four.w;
    reinterpret_cast<float4*>(out)[at] =
        make_float4(four.x + before, four.y + before, four.z + before, four.w + before);
}
