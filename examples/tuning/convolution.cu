// A 7 × 7 convolution of an image, as a tuning space: each macro is a parameter of the launch file.
//
//   gpucast tune examples/tuning/space.toml --gpu a100

constexpr int RADIUS = 3;
constexpr int FILTER = 2 * RADIUS + 1;
// Pixels that a block computes.
constexpr int WIDTH = block_x * tile_x;
constexpr int HEIGHT = block_y * tile_y;

__constant__ float weights[FILTER * FILTER];

// The image has a border of RADIUS pixels on each side; `pitch` is the width with it.
extern "C" __global__ void convolution(const float* image, float* result, int width, int pitch)
{
    const int left = blockIdx.x * WIDTH, top = blockIdx.y * HEIGHT;
    float sums[tile_y][tile_x] = {};
#if shared_tile
    __shared__ float tile[HEIGHT + FILTER - 1][WIDTH + FILTER - 1];
    for (int y = threadIdx.y; y < HEIGHT + FILTER - 1; y += block_y)
        for (int x = threadIdx.x; x < WIDTH + FILTER - 1; x += block_x)
            tile[y][x] = image[(top + y) * pitch + left + x];
    __syncthreads();
#endif
    for (int fy = 0; fy < FILTER; ++fy) {
#pragma unroll
        for (int fx = 0; fx < FILTER; ++fx) {
            const float weight = weights[fy * FILTER + fx];
#pragma unroll
            for (int ty = 0; ty < tile_y; ++ty) {
#pragma unroll
                for (int tx = 0; tx < tile_x; ++tx) {
                    const int x = threadIdx.x + tx * block_x + fx;
                    const int y = threadIdx.y + ty * block_y + fy;
#if shared_tile
                    sums[ty][tx] += tile[y][x] * weight;
#else
                    sums[ty][tx] += image[(top + y) * pitch + left + x] * weight;
#endif
                }
            }
        }
    }
#pragma unroll
    for (int ty = 0; ty < tile_y; ++ty)
#pragma unroll
        for (int tx = 0; tx < tile_x; ++tx)
            result[(top + threadIdx.y + ty * block_y) * width + left + threadIdx.x + tx * block_x] =
                sums[ty][tx];
}
