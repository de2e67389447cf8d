// C = alpha * A * B + beta * C in single precision, in four of the steps of Boehm's worklog (2022).
//
// A is m x k, B is k x n and C is m x n, all row-major; the extents are multiples of the tiles.

// Step 1: blocks of 32 x 32, and the lanes of a warp lie along the *rows* of C, so that they read A
// and write C with the stride of a row.
extern "C" __global__ void sgemm_uncoalesced(const float *a, const float *b, float *c, int n, int k,
                                             float alpha, float beta)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int column = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = alpha * sum + beta * c[row * n + column];
}

// Step 2: blocks of 1024 threads for 32 x 32 elements, lanes along the columns of C.
extern "C" __global__ void sgemm_coalesced(const float *a, const float *b, float *c, int n, int k,
                                           float alpha, float beta)
{
    const int row = blockIdx.x * 32 + threadIdx.x / 32;
    const int column = blockIdx.y * 32 + threadIdx.x % 32;
    float sum = 0.0f;
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = alpha * sum + beta * c[row * n + column];
}

// Step 4: 512 threads for 64 x 64 elements, eight of a column each; tiles of depth 8 in shared memory.
extern "C" __global__ void __launch_bounds__(512)
    sgemm_column(const float *a, const float *b, float *c, int n, int k, float alpha, float beta)
{
    constexpr int SIDE = 64, DEPTH = 8, EACH = 8;
    __shared__ float a_tile[SIDE * DEPTH];
    __shared__ float b_tile[DEPTH * SIDE];

    const int first_row = blockIdx.y * SIDE;
    const int first_column = blockIdx.x * SIDE;
    const int column = threadIdx.x % SIDE;
    const int strip = threadIdx.x / SIDE;

    float sums[EACH] = {};
    for (int depth = 0; depth < k; depth += DEPTH) {
        const int a_row = threadIdx.x / DEPTH, a_column = threadIdx.x % DEPTH;
        a_tile[a_row * DEPTH + a_column] = a[(first_row + a_row) * k + depth + a_column];
        b_tile[strip * SIDE + column] = b[(depth + strip) * n + first_column + column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            const float factor = b_tile[i * SIDE + column];
#pragma unroll
            for (int j = 0; j < EACH; j++)
                sums[j] += a_tile[(strip * EACH + j) * DEPTH + i] * factor;
        }
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        float *const element = c + (first_row + strip * EACH + j) * n + first_column + column;
        *element = alpha * sums[j] + beta * *element;
    }
}

// Step 5: 256 threads for 128 x 128 elements, 8 x 8 each.
extern "C" __global__ void __launch_bounds__(256)
    sgemm_patch(const float *a, const float *b, float *c, int n, int k, float alpha, float beta)
{
    constexpr int SIDE = 128, DEPTH = 8, EACH = 8, THREADS = 256;
    __shared__ float a_tile[SIDE * DEPTH];
    __shared__ float b_tile[DEPTH * SIDE];

    const int first_row = blockIdx.y * SIDE;
    const int first_column = blockIdx.x * SIDE;
    const int across = threadIdx.x % (SIDE / EACH);
    const int down = threadIdx.x / (SIDE / EACH);

    float sums[EACH][EACH] = {};
    for (int depth = 0; depth < k; depth += DEPTH) {
        const int a_row = threadIdx.x / DEPTH, a_column = threadIdx.x % DEPTH;
        const int b_row = threadIdx.x / SIDE, b_column = threadIdx.x % SIDE;
#pragma unroll
        for (int i = 0; i < SIDE; i += THREADS / DEPTH)
            a_tile[(a_row + i) * DEPTH + a_column] =
                a[(first_row + a_row + i) * k + depth + a_column];
#pragma unroll
        for (int i = 0; i < DEPTH; i += THREADS / SIDE)
            b_tile[(b_row + i) * SIDE + b_column] =
                b[(depth + b_row + i) * n + first_column + b_column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            float left[EACH], top[EACH];
#pragma unroll
            for (int j = 0; j < EACH; j++)
                left[j] = a_tile[(down * EACH + j) * DEPTH + i];
#pragma unroll
            for (int j = 0; j < EACH; j++)
                top[j] = b_tile[i * SIDE + across * EACH + j];
#pragma unroll
            for (int y = 0; y < EACH; y++)
#pragma unroll
                for (int x = 0; x < EACH; x++)
                    sums[y][x] += left[y] * top[x];
        }
        __syncthreads();
    }
#pragma unroll
    for (int y = 0; y < EACH; y++)
#pragma unroll
        for (int x = 0; x < EACH; x++) {
            float *const element =
                c + (first_row + down * EACH + y) * n + first_column + across * EACH + x;
            *element = alpha * sums[y][x] + beta * *element;
        }
}
