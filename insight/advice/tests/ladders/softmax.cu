// The softmax of rows of 1024 numbers, step by step.
constexpr int ROW = 1024;

// A row for each thread.
extern "C" __global__ void of_threads(const float* __restrict__ in, float* __restrict__ out)
{
    const float* from = in + (blockIdx.x * blockDim.x + threadIdx.x) * ROW;
    float* to = out + (blockIdx.x * blockDim.x + threadIdx.x) * ROW;
    float most = -__int_as_float(0x7f800000), sum = 0;
    for (int i = 0; i < ROW; i++) most = fmaxf(most, from[i]);
    for (int i = 0; i < ROW; i++) sum += __expf(from[i] - most);
    for (int i = 0; i < ROW; i++) to[i] = __expf(from[i] - most) / sum;
}

constexpr int THREADS = 256;

struct Most { __device__ float operator()(float a, float b) const { return fmaxf(a, b); } };
struct Sum { __device__ float operator()(float a, float b) const { return a + b; } };

// One value of all threads, by a tree in shared memory.
template <class Join>
__device__ float by_tree(float value, Join join)
{
    __shared__ float part[THREADS];
    int t = threadIdx.x;
    part[t] = value;
    __syncthreads();
    for (int d = THREADS / 2; d > 0; d /= 2) {
        if (t < d) part[t] = join(part[t], part[t + d]);
        __syncthreads();
    }
    value = part[0];
    __syncthreads();
    return value;
}

// One value of all threads, by shuffles.
template <class Join>
__device__ float by_shuffles(float value, Join join)
{
    __shared__ float of_warps[THREADS / 32];
#pragma unroll
    for (int d = 16; d > 0; d /= 2) value = join(value, __shfl_xor_sync(~0u, value, d));
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warps[0];
#pragma unroll
    for (int i = 1; i < THREADS / 32; i++) value = join(value, of_warps[i]);
    return value;
}

// A row for each block.
extern "C" __global__ void of_blocks(const float* __restrict__ in, float* __restrict__ out)
{
    const float* from = in + blockIdx.x * ROW;
    float most = -__int_as_float(0x7f800000), sum = 0;
    for (int i = threadIdx.x; i < ROW; i += THREADS) most = fmaxf(most, from[i]);
    most = by_tree(most, Most());
    for (int i = threadIdx.x; i < ROW; i += THREADS) sum += __expf(from[i] - most);
    sum = by_tree(sum, Sum());
    for (int i = threadIdx.x; i < ROW; i += THREADS)
        out[blockIdx.x * ROW + i] = __expf(from[i] - most) / sum;
}

// Shuffles instead of trees.
extern "C" __global__ void shuffles(const float* __restrict__ in, float* __restrict__ out)
{
    const float* from = in + blockIdx.x * ROW;
    float most = -__int_as_float(0x7f800000), sum = 0;
    for (int i = threadIdx.x; i < ROW; i += THREADS) most = fmaxf(most, from[i]);
    most = by_shuffles(most, Most());
    for (int i = threadIdx.x; i < ROW; i += THREADS) sum += __expf(from[i] - most);
    sum = by_shuffles(sum, Sum());
    for (int i = threadIdx.x; i < ROW; i += THREADS)
        out[blockIdx.x * ROW + i] = __expf(from[i] - most) / sum;
}

// Each number is loaded once, in a vector of four.
extern "C" __global__ void kept(const float* __restrict__ in, float* __restrict__ out)
{
    int at = blockIdx.x * (ROW / 4) + threadIdx.x;
    float4 four = reinterpret_cast<const float4*>(in)[at];
    float most = by_shuffles(fmaxf(fmaxf(four.x, four.y), fmaxf(four.z, four.w)), Most());
    four = make_float4(__expf(four.x - most), __expf(four.y - most), __expf(four.z - most),
                       __expf(four.w - most));
    float factor = 1 / by_shuffles((four.x + four.y) + (four.z + four.w), Sum());
    reinterpret_cast<float4*>(out)[at] =
        make_float4(four.x * factor, four.y * factor, four.z * factor, four.w * factor);
}
