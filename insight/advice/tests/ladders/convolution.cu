// A convolution of an image with 7 x 7 weights, step by step. The result is smaller by six in both
// directions; its width and height are multiples of 32.
constexpr int SIDE = 7, WIDTH = 32, HEIGHT = 8;

// Each thread loads all that it needs.
extern "C" __global__ void naive(const float* __restrict__ in, const float* __restrict__ weights,
                                 float* __restrict__ out, int width)
{
    int x = blockIdx.x * WIDTH + threadIdx.x, y = blockIdx.y * HEIGHT + threadIdx.y;
    float sum = 0;
    for (int j = 0; j < SIDE; j++)
        for (int i = 0; i < SIDE; i++)
            sum += in[(y + j) * (width + SIDE - 1) + x + i] * weights[j * SIDE + i];
    out[y * width + x] = sum;
}

// `EACH` rows of each thread, from a tile in shared memory.
template <int EACH>
__device__ void convolve(const float* __restrict__ in, const float* __restrict__ weights,
                         float* __restrict__ out, int width)
{
    constexpr int ROWS = HEIGHT * EACH;
    __shared__ float tile[ROWS + SIDE - 1][WIDTH + SIDE - 1], factors[SIDE * SIDE];
    int x = threadIdx.x, y = threadIdx.y, t = y * WIDTH + x;
    if (t < SIDE * SIDE) factors[t] = weights[t];
    for (int i = t; i < (ROWS + SIDE - 1) * (WIDTH + SIDE - 1); i += WIDTH * HEIGHT) {
        int row = i / (WIDTH + SIDE - 1), column = i % (WIDTH + SIDE - 1);
        tile[row][column] = in[(blockIdx.y * ROWS + row) * (width + SIDE - 1) + blockIdx.x * WIDTH + column];
    }
    __syncthreads();
    float sums[EACH] = {};
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        float above[EACH + SIDE - 1];
#pragma unroll
        for (int j = 0; j < EACH + SIDE - 1; j++) above[j] = tile[y * EACH + j][x + i];
#pragma unroll
        for (int j = 0; j < SIDE; j++) {
            float factor = factors[j * SIDE + i];
#pragma unroll
            for (int k = 0; k < EACH; k++) sums[k] += above[j + k] * factor;
        }
    }
#pragma unroll
    for (int k = 0; k < EACH; k++)
        out[(blockIdx.y * ROWS + y * EACH + k) * width + blockIdx.x * WIDTH + x] = sums[k];
}

// The block loads its part of the image once.
extern "C" __global__ void tiled(const float* __restrict__ in, const float* __restrict__ weights,
                                 float* __restrict__ out, int width)
{
    convolve<1>(in, weights, out, width);
}

// Four elements of each thread share what they read.
extern "C" __global__ void registers(const float* __restrict__ in, const float* __restrict__ weights,
                                     float* __restrict__ out, int width)
{
    convolve<4>(in, weights, out, width);
}
