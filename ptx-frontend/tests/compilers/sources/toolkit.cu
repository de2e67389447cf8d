// What needs the toolkit's headers: half precision, tensor cores, cooperative groups, textures,
// inline assembly, virtual calls, printf.
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <stdio.h>

namespace groups = cooperative_groups;

struct Shape {
    __device__ virtual float area() const = 0;
};
struct Square : Shape {
    float side;
    __device__ float area() const override { return side * side; }
};

__constant__ float weights[8];
__device__ unsigned long long counter;

extern "C" __global__ void __launch_bounds__(256, 2)
tensor_cores(const half *a, const half *b, float *c, const __nv_bfloat16 *bf, __nv_bfloat162 *out) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, half, row_major> left;
    fragment<matrix_b, 16, 16, 16, half, col_major> right;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    for (int k = 0; k < 64; k += 16) {
        load_matrix_sync(left, a + k, 64);
        load_matrix_sync(right, b + k, 64);
        mma_sync(sum, left, right, sum);
    }
    store_matrix_sync(c, sum, 16, mem_row_major);
    out[threadIdx.x] = __hfma2(__halves2bfloat162(bf[0], bf[1]), out[threadIdx.x], out[1]);
}

extern "C" __global__ void groups_and_atomics(int *data, double *sums, int n) {
    extern __shared__ int buffer[];
    auto block = groups::this_thread_block();
    auto warp = groups::tiled_partition<32>(block);
    int i = block.group_index().x * blockDim.x + threadIdx.x;
    int value = i < n ? __ldg(data + i) : 0;
    for (int step = 16; step; step /= 2) value += warp.shfl_down(value, step);
    buffer[threadIdx.x] = value;
    block.sync();
    if (warp.thread_rank() == 0) {
        atomicAdd(sums, (double)buffer[threadIdx.x ^ 1]);
        atomicCAS(&counter, 0ull, (unsigned long long)value);
        atomicMax_block(data, value);
        __threadfence_system();
    }
    if (__any_sync(0xffffffff, value > 3)) data[i] = __popc(__ballot_sync(0xffffffff, value & 1));
    data[i] += __match_any_sync(0xffffffff, value);
    __nanosleep(100);
}

extern "C" __global__ void textures(cudaTextureObject_t image, cudaSurfaceObject_t surface,
                                    float4 *out) {
    float x = threadIdx.x + 0.5f;
    out[threadIdx.x] = tex2D<float4>(image, x, 1.0f);
    out[threadIdx.x + 32] = tex2DLod<float4>(image, x, 1.0f, 2.0f);
    int texel;
    surf2Dread(&texel, surface, threadIdx.x * 4, 0, cudaBoundaryModeClamp);
    surf2Dwrite(texel + 1, surface, threadIdx.x * 4, 1, cudaBoundaryModeZero);
}

extern "C" __global__ void virtual_and_inline(Shape **shapes, float *areas, uint4 *v, long n) {
    int lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("{ .reg .pred p; setp.lt.s32 p, %0, 4; @p nanosleep.u32 5; }" ::"r"(lane));
    areas[lane] = shapes[lane]->area() * weights[lane & 7];
    float s = areas[lane];
    areas[lane] = __sinf(s) + __expf(s) + rsqrtf(s) + (float)(n / 7);
    uint4 word = v[lane];
    word.x = __byte_perm(word.x, word.y, 0x3210) + __vadd4(word.z, word.w) + __dp4a(1, 2, 3);
    v[lane] = word;
    if (lane == 31) printf("%d %f\n", lane, areas[lane]);
    __trap();
}

extern "C" __global__ void make(Square *s) { new (s) Square(); }
