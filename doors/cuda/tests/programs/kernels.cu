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

// The weights of a layer follow its errors, with momentum.
extern "C" __global__ void layer_adjust(const float *input, const float *errors, float *weights, float *momentum, int inputs)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, unit = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= inputs)
        return;
    float change = 0.3f * errors[unit] * input[i] + 0.3f * momentum[unit * inputs + i];
    weights[unit * inputs + i] += change;
    momentum[unit * inputs + i] = change;
}

// A step of a decomposition into triangles, in place and tile by tile: the tile on the diagonal, the
// tiles in its row and column, and the rest. `at` is the tile's first row and column.
extern "C" __global__ void lud_diagonal(float *m, int n, int at)
{
    __shared__ float tile[TILE][TILE];
    int row = threadIdx.x;
    for (int j = 0; j < TILE; j++)
        tile[j][row] = m[(at + j) * n + at + row];
    __syncthreads();
    for (int k = 0; k < TILE - 1; k++) {
        if (row > k) {
            tile[row][k] /= tile[k][k];
            for (int j = k + 1; j < TILE; j++)
                tile[row][j] -= tile[row][k] * tile[k][j];
        }
        __syncthreads();
    }
    for (int j = 0; j < TILE; j++)
        m[(at + j) * n + at + row] = tile[j][row];
}

extern "C" __global__ void lud_perimeter(float *m, int n, int at)
{
    __shared__ float diagonal[TILE][TILE], right[TILE][TILE], below[TILE][TILE];
    int t = threadIdx.x % TILE, other = at + (blockIdx.x + 1) * TILE;
    bool is_right = threadIdx.x < TILE;
    for (int j = 0; j < TILE; j++) {
        if (is_right) {
            diagonal[j][t] = m[(at + j) * n + at + t];
            right[j][t] = m[(at + j) * n + other + t];
        } else {
            below[j][t] = m[(other + j) * n + at + t];
        }
    }
    __syncthreads();
    if (is_right) {
        for (int i = 1; i < TILE; i++)
            for (int j = 0; j < i; j++)
                right[i][t] -= diagonal[i][j] * right[j][t];
    } else {
        for (int i = 0; i < TILE; i++) {
            for (int j = 0; j < i; j++)
                below[t][i] -= below[t][j] * diagonal[j][i];
            below[t][i] /= diagonal[i][i];
        }
    }
    __syncthreads();
    for (int j = 0; j < TILE; j++) {
        if (is_right)
            m[(at + j) * n + other + t] = right[j][t];
        else
            m[(other + j) * n + at + t] = below[j][t];
    }
}

extern "C" __global__ void lud_internal(float *m, int n, int at)
{
    __shared__ float above[TILE][TILE], left[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int column = at + (blockIdx.x + 1) * TILE + x, row = at + (blockIdx.y + 1) * TILE + y;
    above[y][x] = m[(at + y) * n + column];
    left[y][x] = m[row * n + at + x];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < TILE; k++)
        sum += left[y][k] * above[k][x];
    m[row * n + column] -= sum;
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

// Diffusion that stops at edges: slopes to the four neighbours and a coefficient, then the change.
extern "C" __global__ void edge_slopes(const float *image, float4 *slopes, float *coefficients_of, int rows, int columns, float noise)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows)
        return;
    int at = y * columns + x;
    float c = image[at];
    float4 slope = {image[max(y - 1, 0) * columns + x] - c, image[min(y + 1, rows - 1) * columns + x] - c,
                    image[y * columns + max(x - 1, 0)] - c, image[y * columns + min(x + 1, columns - 1)] - c};
    float squares = (slope.x * slope.x + slope.y * slope.y + slope.z * slope.z + slope.w * slope.w) / (c * c);
    float laplacian = (slope.x + slope.y + slope.z + slope.w) / c;
    float half = 1.0f + 0.25f * laplacian;
    float q = (0.5f * squares - 0.0625f * laplacian * laplacian) / (half * half);
    float coefficient = 1.0f / (1.0f + (q - noise) / (noise * (1.0f + noise)));
    slopes[at] = slope;
    coefficients_of[at] = coefficient < 0.0f ? 0.0f : coefficient > 1.0f ? 1.0f : coefficient;
}

extern "C" __global__ void edge_diffusion(float *image, const float4 *slopes, const float *coefficients_of, int rows, int columns)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows)
        return;
    int at = y * columns + x;
    float here = coefficients_of[at], south = coefficients_of[min(y + 1, rows - 1) * columns + x];
    float east = coefficients_of[y * columns + min(x + 1, columns - 1)];
    float4 slope = slopes[at];
    image[at] += 0.125f * (here * slope.x + south * slope.y + here * slope.z + east * slope.w);
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
