// The transposition of a matrix through a tile in shared memory, whose columns lie in one bank.
// Compiled by NVRTC 12.9 (--gpu-architecture=compute_80 -lineinfo); the path in the PTX was
// shortened.
constexpr int TILE = 32;

extern "C" __global__ void transpose(const float* in, float* out, int n) {
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}
