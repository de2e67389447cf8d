// Kernels of the test programs. `kernels.ptx` is what nvcc 13.5 makes of this file:
//   nvcc -ptx -arch=compute_75 -o kernels.ptx kernels.cu

#include <assert.h>
#include <stdio.h>

#define TILE 16

__constant__ float coefficients[4] = {1.0f, 2.0f, 3.0f, 4.0f};
__device__ int visits = 7;
__managed__ int total = 5;

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

// A step of heat conduction on a grid of cells.
extern "C" __global__ void stencil(const float *in, const float *power, float *out, int rows, int columns)
{
    __shared__ float tile[TILE + 2][TILE + 2];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int cx = min(x, columns - 1), cy = min(y, rows - 1);
    tile[ty][tx] = in[cy * columns + cx];
    if (threadIdx.x == 0)
        tile[ty][0] = in[cy * columns + max(cx - 1, 0)];
    if (threadIdx.x == TILE - 1)
        tile[ty][TILE + 1] = in[cy * columns + min(cx + 1, columns - 1)];
    if (threadIdx.y == 0)
        tile[0][tx] = in[max(cy - 1, 0) * columns + cx];
    if (threadIdx.y == TILE - 1)
        tile[TILE + 1][tx] = in[min(cy + 1, rows - 1) * columns + cx];
    __syncthreads();
    if (x < columns && y < rows) {
        float c = tile[ty][tx];
        float sum = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx];
        out[y * columns + x] = c + 0.125f * (sum - 4.0f * c) + 0.0625f * power[y * columns + x];
    }
}

// One level of a breadth-first search.
extern "C" __global__ void bfs_level(const int *offsets, const int *edges, int *levels, int level, int n, int *changed)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= n || levels[node] != level)
        return;
    for (int e = offsets[node]; e < offsets[node + 1]; e++)
        if (levels[edges[e]] < 0) {
            levels[edges[e]] = level + 1;
            *changed = 1;
        }
}

// One antidiagonal of a sequence alignment.
extern "C" __global__ void alignment_diagonal(int *score, const int *similarity, int size, int diagonal, int penalty)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1, j = diagonal - i;
    if (i > size || j < 1 || j > size)
        return;
    int width = size + 1, at = i * width + j;
    int best = score[at - width - 1] + similarity[at];
    best = max(best, score[at - width] - penalty);
    score[at] = max(best, score[at - 1] - penalty);
}

// One row of a shortest path through a grid.
extern "C" __global__ void path_row(const int *wall, const int *from, int *to, int columns)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= columns)
        return;
    int best = from[x];
    if (x > 0)
        best = min(best, from[x - 1]);
    if (x < columns - 1)
        best = min(best, from[x + 1]);
    to[x] = wall[x] + best;
}

// A layer of a neural network: each block sums the inputs of one unit.
extern "C" __global__ void layer_forward(const float *input, const float *weights, float *output, int inputs)
{
    extern __shared__ float partial[];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < inputs; i += blockDim.x)
        sum += input[i] * weights[blockIdx.x * inputs + i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        output[blockIdx.x] = partial[0];
}

// Two steps of a decomposition into triangles, in place.
extern "C" __global__ void lud_column(float *m, int n, int k)
{
    int row = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n)
        m[row * n + k] /= m[k * n + k];
}

extern "C" __global__ void lud_rest(float *m, int n, int k)
{
    int column = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    int row = k + 1 + blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n)
        m[row * n + column] -= m[row * n + k] * m[k * n + column];
}

// Two steps of an elimination with a right side.
extern "C" __global__ void gaussian_factors(float *factors, const float *a, int n, int k)
{
    int row = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n)
        factors[row] = a[row * n + k] / a[k * n + k];
}

extern "C" __global__ void gaussian_rows(const float *factors, float *a, float *b, int n, int k)
{
    int column = k + blockIdx.x * blockDim.x + threadIdx.x;
    int row = k + 1 + blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n)
        return;
    a[row * n + column] -= factors[row] * a[k * n + column];
    if (column == k)
        b[row] -= factors[row] * b[k];
}

// Sums and sums of squares of an image, with shuffles and atomics.
extern "C" __global__ void moments(const float *image, int n, float *sums)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i < n ? image[i] : 0.0f, square = value * value;
    for (int lane = 16; lane > 0; lane /= 2) {
        value += __shfl_down_sync(~0u, value, lane);
        square += __shfl_down_sync(~0u, square, lane);
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&sums[0], value);
        atomicAdd(&sums[1], square);
    }
}

extern "C" __global__ void polynomial(float *y, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = ((coefficients[3] * x[i] + coefficients[2]) * x[i] + coefficients[1]) * x[i] + coefficients[0];
    if (i == 0)
        visits++;
}

extern "C" __global__ void count_up(int *counter)
{
    atomicAdd(counter, 1);
    atomicAdd(&total, 2);
}

// Twice each element of rows with a pitch.
extern "C" __global__ void double_rows(float *rows, size_t pitch, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < width && blockIdx.y < height)
        ((float *)((char *)rows + blockIdx.y * pitch))[x] *= 2.0f;
}

extern "C" __global__ void hello()
{
    printf("hello from %d\n", threadIdx.x);
}

extern "C" __global__ void refuse(int limit)
{
    assert(threadIdx.x < limit);
}

extern "C" __global__ void out_of_bounds(int *buffer)
{
    buffer[128] = 1;
}

extern "C" __global__ void nothing() {}
