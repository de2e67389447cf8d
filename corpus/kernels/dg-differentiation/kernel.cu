// Element-wise differentiation for a discontinuous Galerkin method: the four variants of Stevens and
// Kloeckner 2020, section 8.4.
//
//     result[m, k, i] = sum over j of matrix[m, i, j] * u[k, j]
//
// for differentiation matrices m, elements k and nodes i, j of an element. Blocks are 16 x 16: x
// counts elements and y nodes, so that neighbouring threads belong to neighbouring elements.
//
// - dg_direct reads everything from global memory.
// - dg_prefetch_u keeps a tile of u in shared memory and sums for all matrices at a time.
// - dg_prefetch_matrix keeps a tile of the matrix in shared memory.
// - dg_prefetch_matrix_transposed does the same for u and result stored with elements, not nodes,
//   side by side.
//
// The last index of an array is the contiguous one, but for the last variant, where it is k. The
// numbers of elements and nodes are multiples of 16.

constexpr int TILE = 16;
constexpr int MATRICES = 3;

extern "C" __global__ void dg_direct(const float *matrix, const float *u, float *result,
                                     int elements, int nodes)
{
    const int k = blockIdx.x * TILE + threadIdx.x;
    const int i = blockIdx.y * TILE + threadIdx.y;

#pragma unroll 1
    for (int m = 0; m < MATRICES; ++m) {
        float sum = 0.0f;
        for (int j = 0; j < nodes; ++j)
            sum += matrix[(m * nodes + i) * nodes + j] * u[k * nodes + j];
        result[(m * elements + k) * nodes + i] = sum;
    }
}

extern "C" __global__ void dg_prefetch_u(const float *matrix, const float *u, float *result,
                                         int elements, int nodes)
{
    __shared__ float tile[TILE][TILE]; // by element and node

    const int k_in = threadIdx.x;
    const int k = blockIdx.x * TILE + k_in;
    const int i = blockIdx.y * TILE + threadIdx.y;

    float sums[MATRICES] = {};
#pragma unroll 1
    for (int j = 0; j < nodes; j += TILE) {
        __syncthreads();
        tile[threadIdx.y][threadIdx.x] =
            u[(blockIdx.x * TILE + threadIdx.y) * nodes + j + threadIdx.x];
        __syncthreads();
#pragma unroll
        for (int j_in = 0; j_in < TILE; ++j_in)
#pragma unroll
            for (int m = 0; m < MATRICES; ++m)
                sums[m] += matrix[(m * nodes + i) * nodes + j + j_in] * tile[k_in][j_in];
    }
#pragma unroll
    for (int m = 0; m < MATRICES; ++m)
        result[(m * elements + k) * nodes + i] = sums[m];
}

// How u and result are stored: strides of elements and nodes.
struct Strides {
    int element, node;
};

__device__ __forceinline__ void prefetch_matrix(const float *matrix, const float *u, float *result,
                                                int elements, int nodes, Strides strides)
{
    __shared__ float tile[TILE][TILE]; // by rows and columns of the matrix

    const int i_in = threadIdx.y;
    const int k = blockIdx.x * TILE + threadIdx.x;
    const int i = blockIdx.y * TILE + i_in;

#pragma unroll 1
    for (int m = 0; m < MATRICES; ++m) {
        float sum = 0.0f;
#pragma unroll 1
        for (int j = 0; j < nodes; j += TILE) {
            __syncthreads();
            tile[i_in][threadIdx.x] = matrix[(m * nodes + i) * nodes + j + threadIdx.x];
            __syncthreads();
#pragma unroll
            for (int j_in = 0; j_in < TILE; ++j_in)
                sum += tile[i_in][j_in] * u[k * strides.element + (j + j_in) * strides.node];
        }
        result[m * elements * nodes + k * strides.element + i * strides.node] = sum;
    }
}

extern "C" __global__ void dg_prefetch_matrix(const float *matrix, const float *u, float *result,
                                              int elements, int nodes)
{
    prefetch_matrix(matrix, u, result, elements, nodes, Strides{nodes, 1});
}

extern "C" __global__ void dg_prefetch_matrix_transposed(const float *matrix, const float *u,
                                                         float *result, int elements, int nodes)
{
    prefetch_matrix(matrix, u, result, elements, nodes, Strides{1, elements});
}
