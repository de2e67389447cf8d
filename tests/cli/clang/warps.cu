// What lanes and blocks do together, with host code around it that is left out.
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

__constant__ unsigned step = 3;

template <typename T> __global__ void together(T *sums, unsigned *facts, int n)
{
    __shared__ T part[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    dim3 grid = gridDim;
    assert(grid.y == 1);
    T mine = i < n ? (T)(i % step) : (T)0;
    for (int distance = 16; distance > 0; distance /= 2)
        mine += __shfl_xor_sync(0xffffffff, mine, distance);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x < 8)
        atomicAdd(sums, part[threadIdx.x]);
    unsigned odd = __ballot_sync(0xffffffff, i & 1);
    // 10 if some and not all threads are odd, in the block and in the warp; the block has 128.
    int some = 2 * __syncthreads_or(i & 1) + __syncthreads_and(i & 1);
    some += 8 * __any_sync(0xffffffff, i & 1) + 4 * __all_sync(0xffffffff, i & 1);
    some += 16 * __syncthreads_count(i & 1);
    if (i == 0) {
        facts[0] = odd;
        facts[1] = __popc(odd) + __ffs(8) + __clz(1);
        facts[2] = __shfl_up_sync(1, 7u, 1) + max(3, 4u) + abs(-2);
        facts[3] = __float_as_uint(fmaf(2.0f, 3.0f, pow(2.0f, 2)));
        float4 four = make_float4(1, 2, 3, 4);
        facts[4] = (unsigned)(four.x + four.y + four.z + four.w);
        printf("%d of %u\n", n, grid.x);
    }
    if (i == 0)
        facts[6] = (unsigned)some;
    atomicMax(&facts[5], (unsigned)i);
}

int main()
{
    float *sums;
    unsigned *facts;
    cudaMalloc(&sums, sizeof(float));
    cudaMalloc(&facts, 7 * sizeof(unsigned));
    dim3 grid(4), block(256);
    together<float><<<grid, block>>>(sums, facts, 1000);
    std::vector<unsigned> got(7);
    cudaMemcpy(got.data(), facts, 28, cudaMemcpyDeviceToHost);
    printf("%s %f\n", cudaGetErrorString(cudaDeviceSynchronize()), std::sqrt(2.0));
}
