// A tile goes through shared memory; a block has fewer rows of threads than the tile.
extern "C" __global__ void __launch_bounds__(tile * rows) transpose(const float *in, float *out, int n) {
    __shared__ float part[tile][tile + padding];
    int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
    for (int i = 0; i < tile; i += rows) part[threadIdx.y + i][threadIdx.x] = in[(y + i) * n + x];
    __syncthreads();
    x = blockIdx.y * tile + threadIdx.x, y = blockIdx.x * tile + threadIdx.y;
    for (int i = 0; i < tile; i += rows) out[(y + i) * n + x] = part[threadIdx.x][threadIdx.y + i];
}
