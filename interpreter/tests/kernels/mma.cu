// A matrix product the way libraries write it: tiles in shared memory, ldmatrix, mma.sync; n is a
// multiple of 64, matrices are n by n and row-major.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// A block of four warps computes 64 by 64 elements of C, each warp 32 by 32, in steps of 32 of k.
template <bool BF16>
__device__ void product(const unsigned short *a, const unsigned short *b, float *c, int n)
{
    constexpr int A_PITCH = 32 + 8, B_PITCH = 64 + 8;
    __shared__ __align__(16) unsigned short as[64 * A_PITCH];
    __shared__ __align__(16) unsigned short bs[32 * B_PITCH];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int row = warp / 2 * 32, column = warp % 2 * 32;
    a += blockIdx.y * 64 * n;
    b += blockIdx.x * 64;
    float sum[2][4][4] = {};
    for (int k = 0; k < n; k += 32) {
        for (int i = threadIdx.x; i < 64 * 32 / 8; i += 128) {
            int y = i / 4, x = i % 4 * 8;
            *(uint4 *)&as[y * A_PITCH + x] = *(const uint4 *)&a[y * n + k + x];
            y = i / 8, x = i % 8 * 8;
            *(uint4 *)&bs[y * B_PITCH + x] = *(const uint4 *)&b[(k + y) * n + x];
        }
        __syncthreads();
        for (int step = 0; step < 32; step += 16) {
            unsigned fa[2][4], fb[2][4];
            for (int i = 0; i < 2; i++) {
                const void *at = &as[(row + 16 * i + lane % 16) * A_PITCH + step + lane / 16 * 8];
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(fa[i][0]), "=r"(fa[i][1]), "=r"(fa[i][2]), "=r"(fa[i][3])
                             : "r"((unsigned)__cvta_generic_to_shared(at)));
                at = &bs[(step + lane % 16) * B_PITCH + column + 16 * i + lane / 16 * 8];
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(fb[i][0]), "=r"(fb[i][1]), "=r"(fb[i][2]), "=r"(fb[i][3])
                             : "r"((unsigned)__cvta_generic_to_shared(at)));
            }
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++) {
                    float *d = sum[i][j];
                    unsigned b0 = fb[j / 2][j % 2 * 2], b1 = fb[j / 2][j % 2 * 2 + 1];
                    if (BF16)
                        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                                     : "r"(fa[i][0]), "r"(fa[i][1]), "r"(fa[i][2]), "r"(fa[i][3]),
                                       "r"(b0), "r"(b1));
                    else
                        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                                     : "r"(fa[i][0]), "r"(fa[i][1]), "r"(fa[i][2]), "r"(fa[i][3]),
                                       "r"(b0), "r"(b1));
                }
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int half = 0; half < 2; half++) {
                int y = blockIdx.y * 64 + row + 16 * i + 8 * half + lane / 4;
                int x = blockIdx.x * 64 + column + 8 * j + lane % 4 * 2;
                *(float2 *)&c[y * n + x] = make_float2(sum[i][j][2 * half], sum[i][j][2 * half + 1]);
            }
}

extern "C" __global__ void product_f16(const unsigned short *a, const unsigned short *b, float *c, int n)
{
    product<false>(a, b, c, n);
}

extern "C" __global__ void product_bf16(const unsigned short *a, const unsigned short *b, float *c, int n)
{
    product<true>(a, b, c, n);
}
