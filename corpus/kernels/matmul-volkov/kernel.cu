// C = A B for square matrices, in the manner of Volkov and Demmel as Zhang and Owens 2011, section
// 5.1, describe it: a block of 64 threads computes 64 rows of N columns, N = 8, 16 or 32, and keeps
// a tile of N x N elements of B, and of B only, in shared memory.
//
// A thread owns a row: its N sums are in registers, and its elements of A pass through registers
// four at a time. All threads of a block read the same element of B at a time, which is a
// broadcast. The tile has a column of padding, as table 2 suggests: 16 x 17 elements are its 1088
// bytes. Matrices are stored by columns, as in BLAS; n is a multiple of 64.

constexpr int THREADS = 64;
constexpr int AHEAD = 4;

template <int N>
__device__ __forceinline__ void multiply(const float *a, const float *b, float *c, int n)
{
    static_assert(N % AHEAD == 0 && THREADS % N == 0, "whole groups of k, whole columns of threads");
    __shared__ float tile[N][N + 1]; // by k and column

    const int row = blockIdx.x * THREADS + threadIdx.x;
    const int column = blockIdx.y * N;
    // The threads fetch a tile by columns of B, in which k is contiguous.
    const int tile_k = threadIdx.x % N;
    const int tile_column = threadIdx.x / N;

    a += row;
    b += (column + tile_column) * n + tile_k;

    float sums[N] = {};
    for (int k = 0; k < n; k += N) {
#pragma unroll
        for (int skipped = 0; skipped < N; skipped += THREADS / N)
            tile[tile_k][tile_column + skipped] = b[skipped * n];
        b += N;
        __syncthreads();

#pragma unroll 1
        for (int group = 0; group < N; group += AHEAD) {
            float elements[AHEAD];
#pragma unroll
            for (int i = 0; i < AHEAD; ++i) {
                elements[i] = *a;
                a += n;
            }
#pragma unroll
            for (int i = 0; i < AHEAD; ++i)
#pragma unroll
                for (int j = 0; j < N; ++j)
                    sums[j] += elements[i] * tile[group + i][j];
        }
        __syncthreads();
    }

    c += column * n + row;
#pragma unroll
    for (int j = 0; j < N; ++j) {
        *c = sums[j];
        c += n;
    }
}

extern "C" __global__ void matmul_volkov_8(const float *a, const float *b, float *c, int n)
{
    multiply<8>(a, b, c, n);
}

extern "C" __global__ void matmul_volkov_16(const float *a, const float *b, float *c, int n)
{
    multiply<16>(a, b, c, n);
}

extern "C" __global__ void matmul_volkov_32(const float *a, const float *b, float *c, int n)
{
    multiply<32>(a, b, c, n);
}
