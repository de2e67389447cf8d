// Every warp of a block loads the same columns of `b`, and each row of `a` word by word.
extern "C" __global__ void planted(const float* __restrict__ a, const float* __restrict__ b,
                                   float* __restrict__ c, int n, int depth)
{
    int row = blockIdx.y * 16 + threadIdx.y;
    int column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < depth; k++)
        sum += a[row * depth + k] * b[k * n + column];
    c[row * n + column] = sum;
}

// A block loads a tile of each matrix once, and its threads read both from shared memory.
extern "C" __global__ void mended(const float* __restrict__ a, const float* __restrict__ b,
                                  float* __restrict__ c, int n, int depth)
{
    __shared__ float tile_a[16][16];
    __shared__ float tile_b[16][16];
    int row = blockIdx.y * 16 + threadIdx.y;
    int column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int from = 0; from < depth; from += 16) {
        tile_a[threadIdx.y][threadIdx.x] = a[row * depth + from + threadIdx.x];
        tile_b[threadIdx.y][threadIdx.x] = b[(from + threadIdx.y) * n + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++)
            sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
