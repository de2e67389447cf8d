// Tiles in shared memory whose words the assembler loads several at a time.

extern "C" __global__ void tiles(const float* a, const float* b, float* c, int n) {
    __shared__ float at[4][8];
    __shared__ float bt[8][128];
    int tx = threadIdx.x, ty = threadIdx.y;
    float sums[4] = {};
    for (int m = 0; m < n; m += 8) {
        if (tx < 8) at[ty][tx] = a[ty * n + m + tx];
        for (int j = 0; j < 8; j++) bt[j][ty * 32 + tx] = b[(m + j) * 128 + ty * 32 + tx];
        __syncthreads();
        for (int k = 0; k < 8; k++)
            for (int j = 0; j < 4; j++) sums[j] += at[ty][k] * bt[k][4 * tx + j];
        __syncthreads();
    }
    for (int j = 0; j < 4; j++) c[ty * 128 + 4 * tx + j] = sums[j];
}

// Words that the assembler stores several at a time.
extern "C" __global__ void packs(const float* in, float* out) {
    __shared__ float words[8 * 64];
    int t = threadIdx.x;
    float a = in[t], b = in[t + 64], c = in[t + 128], d = in[t + 192];
    words[8 * t] = a;
    words[8 * t + 1] = b;
    words[8 * t + 2] = c;
    words[8 * t + 3] = d;
    words[8 * t + 6] = a;
    words[8 * t + 7] = b;
    __syncthreads();
    out[t] = words[t];
}
