// Swaps values in shared memory again and again, to measure load/store throughput, after
// Konstantinidis 2017 (listing A.4, section B.2): 5 x 1024 swaps a thread, each two loads and two
// stores. A thread swaps among six slots of its own, so warps never meet and a fence within the
// block is enough. Swapping leaves the sum of the six slots as it was.

constexpr int ITERATIONS = 1024;

template <class T> __device__ T initial(int i);

template <> __device__ float initial<float>(int i)
{
    return i;
}

template <> __device__ float2 initial<float2>(int i)
{
    return make_float2(i, i + 11);
}

template <> __device__ float4 initial<float4>(int i)
{
    return make_float4(i, i + 11, i + 19, i + 23);
}

__device__ float add(float a, float b)
{
    return a + b;
}

__device__ float2 add(float2 a, float2 b)
{
    return make_float2(a.x + b.x, a.y + b.y);
}

__device__ float4 add(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

template <class T> __device__ __forceinline__ void swap(T *slots, int a, int b)
{
    const int left = threadIdx.x + a * blockDim.x;
    const int right = threadIdx.x + b * blockDim.x;
    const T held = slots[right];
    slots[right] = slots[left];
    slots[left] = held;
}

template <class T> __device__ __forceinline__ void shmem_swap(T *slots, T *out)
{
    const int thread = threadIdx.x;
    const int offsets[6] = {0, 1, 3, 7, 13, 17};
#pragma unroll
    for (int slot = 0; slot < 6; slot++)
        slots[thread + slot * blockDim.x] = initial<T>(thread + offsets[slot]);
    __threadfence_block();

#pragma unroll 32
    for (int i = 0; i < ITERATIONS; i++) {
        swap(slots, 0, 1);
        swap(slots, 2, 3);
        swap(slots, 4, 5);
        __threadfence_block();
        swap(slots, 1, 2);
        swap(slots, 3, 4);
        __threadfence_block();
    }

    T sum = slots[thread];
#pragma unroll
    for (int slot = 1; slot < 6; slot++)
        sum = add(sum, slots[thread + slot * blockDim.x]);
    out[blockIdx.x * blockDim.x + thread] = sum;
}

// Six slots a thread, given at the launch.
extern __shared__ float4 slots[];

extern "C" __global__ void shmem_swap_float(float *out)
{
    shmem_swap((float *)slots, out);
}

extern "C" __global__ void shmem_swap_float2(float2 *out)
{
    shmem_swap((float2 *)slots, out);
}

extern "C" __global__ void shmem_swap_float4(float4 *out)
{
    shmem_swap((float4 *)slots, out);
}
