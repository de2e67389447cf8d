// The sum of an array: a grid-stride loop, warp shuffles, one shared slot a warp, and one atomic
// addition a block. `total` must be zero before the launch.

constexpr int WARP = 32;
constexpr unsigned EVERY_LANE = 0xffffffffu;

template <class T> __device__ __forceinline__ T warp_sum(T value)
{
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        value += __shfl_down_sync(EVERY_LANE, value, distance);
    return value;
}

// The block size is a multiple of the warp size.
template <class T> __device__ __forceinline__ void reduce(const T *data, T *total, unsigned n)
{
    __shared__ T warp_sums[WARP];

    T sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += data[i];
    sum = warp_sum(sum);

    const int lane = threadIdx.x % WARP;
    const int warp = threadIdx.x / WARP;
    if (lane == 0)
        warp_sums[warp] = sum;
    __syncthreads();

    if (warp == 0) {
        sum = warp_sum(lane < blockDim.x / WARP ? warp_sums[lane] : T(0));
        if (lane == 0)
            atomicAdd(total, sum);
    }
}

extern "C" __global__ void reduce_f32(const float *data, float *total, unsigned n)
{
    reduce(data, total, n);
}

extern "C" __global__ void reduce_u32(const unsigned *data, unsigned *total, unsigned n)
{
    reduce(data, total, n);
}
