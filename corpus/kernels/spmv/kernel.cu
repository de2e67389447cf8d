// y = A x for a sparse matrix with equally many entries in every row, in the three formats of
// Zhang and Owens 2011, section 5.3.
//
// - ELL: a thread per row. Entry k of all rows lies side by side, with the index of its column.
// - BELL+IM: a thread per row of 3 x 3 blocks, and one index for the nine entries of a block. The
//   matrix is interleaved: entry (i, j) of block k of all block rows lies side by side. The vectors
//   are stored plainly, so that a thread reads three consecutive elements of x.
// - BELL+IMIV: the vectors are interleaved as well. Elements 0, 3, 6 ... come first, then 1, 4, 7
//   ..., then 2, 5, 8 ..., so that neighbouring threads read neighbouring elements.

constexpr int BLOCK = 3;

extern "C" __global__ void spmv_ell(const float *values, const int *columns, const float *x,
                                    float *y, int rows, int entries)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < entries; ++k) {
        const int place = k * rows + row;
        sum += values[place] * x[columns[place]];
    }
    y[row] = sum;
}

// Component i of block b of a vector is at b * across + i * along.
__device__ __forceinline__ void multiply(const float *values, const int *columns, const float *x,
                                         float *y, int rows, int blocks, int across, int along)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sums[BLOCK] = {};
#pragma unroll 1
    for (int k = 0; k < blocks; ++k) {
        const float *elements = x + columns[k * rows + row] * across;
        const float *entries = values + k * BLOCK * BLOCK * rows + row;
#pragma unroll
        for (int j = 0; j < BLOCK; ++j) {
            const float element = elements[j * along];
#pragma unroll
            for (int i = 0; i < BLOCK; ++i)
                sums[i] += entries[(i * BLOCK + j) * rows] * element;
        }
    }
#pragma unroll
    for (int i = 0; i < BLOCK; ++i)
        y[row * across + i * along] = sums[i];
}

extern "C" __global__ void spmv_bell_im(const float *values, const int *columns, const float *x,
                                        float *y, int rows, int blocks)
{
    multiply(values, columns, x, y, rows, blocks, BLOCK, 1);
}

extern "C" __global__ void spmv_bell_imiv(const float *values, const int *columns, const float *x,
                                          float *y, int rows, int blocks)
{
    multiply(values, columns, x, y, rows, blocks, 1, rows);
}
