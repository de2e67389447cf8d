// C = A B in single precision, step by step. A is m x k, B is k x n, C is m x n, all by rows; m is a
// multiple of 128, n of 64, k of 32.

// Neighbouring threads have neighbouring rows.
extern "C" __global__ void uncoalesced(const float* __restrict__ a, const float* __restrict__ b,
                                       float* __restrict__ c, int n, int k)
{
    int row = blockIdx.y * 32 + threadIdx.x, column = blockIdx.x * 32 + threadIdx.y;
    float sum = 0;
    for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

// Neighbouring threads have neighbouring columns.
extern "C" __global__ void coalesced(const float* __restrict__ a, const float* __restrict__ b,
                                     float* __restrict__ c, int n, int k)
{
    int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

// Tiles of 32 x 32 in shared memory, an element of C of each thread.
extern "C" __global__ void tiled(const float* __restrict__ a, const float* __restrict__ b,
                                 float* __restrict__ c, int n, int k)
{
    __shared__ float left[32][32], right[32][32];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
    float sum = 0;
    for (int from = 0; from < k; from += 32) {
        left[y][x] = a[row * k + from + x];
        right[y][x] = b[(from + y) * n + column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 32; i++) sum += left[y][i] * right[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

constexpr int SIDE = 64, DEPTH = 16;

// Tiles of 64 x 64, four by four elements of each of 256 threads, a quarter of the tile apart.
extern "C" __global__ void registers(const float* __restrict__ a, const float* __restrict__ b,
                                     float* __restrict__ c, int n, int k)
{
    __shared__ float left[SIDE][DEPTH], right[DEPTH][SIDE];
    int t = threadIdx.x, x = t % 16, y = t / 16;
    const float* rows = a + blockIdx.y * SIDE * k;
    const float* columns = b + blockIdx.x * SIDE;
    float sums[4][4] = {};
    for (int from = 0; from < k; from += DEPTH) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            left[y + 16 * i][x] = rows[(y + 16 * i) * k + from + x];
            right[t / 64 + 4 * i][t % 64] = columns[(from + t / 64 + 4 * i) * n + t % 64];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            float u[4], v[4];
#pragma unroll
            for (int j = 0; j < 4; j++) u[j] = left[y + 16 * j][i], v[j] = right[i][x + 16 * j];
#pragma unroll
            for (int j = 0; j < 16; j++) sums[j / 4][j % 4] += u[j / 4] * v[j % 4];
        }
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < 16; j++)
        c[(blockIdx.y * SIDE + y + j / 4 * 16) * n + blockIdx.x * SIDE + x + j % 4 * 16] = sums[j / 4][j % 4];
}

__device__ void load(float (&to)[4], const float* from)
{
    float4 four = *reinterpret_cast<const float4*>(from);
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

__device__ void store(float* to, const float (&from)[4])
{
    *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
}

// Tiles of `ROWS` x 64 in vectors. A thread has patches of four by four elements, `DOWN` by `ACROSS`
// of them. The left tile lies by columns. With two buffers, the next tiles are on their way while
// these are multiplied.
template <int ROWS, int DOWN, int ACROSS, int BUFFERS>
__device__ void product(const float* __restrict__ a, const float* __restrict__ b,
                        float* __restrict__ c, int n, int k)
{
    constexpr int WIDTH = SIDE / 4 / ACROSS, THREADS = ROWS / 4 / DOWN * WIDTH;
    constexpr int LEFT = ROWS * DEPTH / 4 / THREADS, RIGHT = SIDE * DEPTH / 4 / THREADS;
    __shared__ __align__(16) float left[BUFFERS][DEPTH][ROWS + 4], right[BUFFERS][DEPTH][SIDE];
    int t = threadIdx.x, x = t % WIDTH * 4, y = t / WIDTH * 4;
    int a_row = t / (DEPTH / 4), a_column = t % (DEPTH / 4) * 4;
    int b_row = t / (SIDE / 4), b_column = t % (SIDE / 4) * 4;
    const float* rows = a + (blockIdx.y * ROWS + a_row) * k + a_column;
    const float* columns = b + b_row * n + blockIdx.x * SIDE + b_column;
    float sums[DOWN * 4][ACROSS][4] = {}, u[LEFT][4], v[RIGHT][4];
    auto fetch = [&](int from) {
#pragma unroll
        for (int i = 0; i < LEFT; i++) load(u[i], rows + i * (ROWS / LEFT) * k + from);
#pragma unroll
        for (int i = 0; i < RIGHT; i++) load(v[i], columns + (i * (DEPTH / RIGHT) + from) * n);
    };
    if (BUFFERS == 2) fetch(0);
    for (int from = 0; from < k; from += DEPTH) {
        int half = BUFFERS == 2 ? from / DEPTH % 2 : 0;
        if (BUFFERS == 1) fetch(from);
#pragma unroll
        for (int i = 0; i < LEFT * 4; i++)
            left[half][a_column + i % 4][a_row + i / 4 * (ROWS / LEFT)] = u[i / 4][i % 4];
#pragma unroll
        for (int i = 0; i < RIGHT; i++)
            store(&right[half][b_row + i * (DEPTH / RIGHT)][b_column], v[i]);
        __syncthreads();
        if (BUFFERS == 2 && from + DEPTH < k) fetch(from + DEPTH);
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            float of_left[DOWN][4], of_right[ACROSS][4];
#pragma unroll
            for (int j = 0; j < DOWN; j++) load(of_left[j], &left[half][i][y + j * (ROWS / DOWN)]);
#pragma unroll
            for (int j = 0; j < ACROSS; j++) load(of_right[j], &right[half][i][x + j * (SIDE / ACROSS)]);
#pragma unroll
            for (int j = 0; j < DOWN * 4; j++)
#pragma unroll
                for (int l = 0; l < ACROSS * 4; l++)
                    sums[j][l / 4][l % 4] += of_left[j / 4][j % 4] * of_right[l / 4][l % 4];
        }
        if (BUFFERS == 1) __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < DOWN * 4; j++)
#pragma unroll
        for (int l = 0; l < ACROSS; l++)
            store(c + (blockIdx.y * ROWS + y + j / 4 * (ROWS / DOWN) + j % 4) * n + blockIdx.x * SIDE + x
                      + l * (SIDE / ACROSS), sums[j][l]);
}

// Vectors of four elements.
extern "C" __global__ void vectors(const float* __restrict__ a, const float* __restrict__ b,
                                   float* __restrict__ c, int n, int k)
{
    product<64, 1, 1, 1>(a, b, c, n, k);
}

// Eight by eight elements of each of 128 threads.
extern "C" __global__ void larger(const float* __restrict__ a, const float* __restrict__ b,
                                  float* __restrict__ c, int n, int k)
{
    product<128, 2, 2, 1>(a, b, c, n, k);
}

// Two buffers.
extern "C" __global__ void buffered(const float* __restrict__ a, const float* __restrict__ b,
                                    float* __restrict__ c, int n, int k)
{
    product<128, 2, 2, 2>(a, b, c, n, k);
}
