// Five points; a thread goes down a column of them and keeps what it has loaded.
extern "C" __global__ void __launch_bounds__(block_x * block_y) stencil(const float *in, float *out, int n) {
    int x = blockIdx.x * block_x + threadIdx.x + 1, y = (blockIdx.y * block_y + threadIdx.y) * per_thread + 1;
    int width = n + 2;
    float above = in[(y - 1) * width + x], here = in[y * width + x];
#pragma unroll unrolled
    for (int i = 0; i < per_thread; i++, y++) {
        float below = in[(y + 1) * width + x];
        out[y * width + x] = 0.2f * (above + below + here + in[y * width + x - 1] + in[y * width + x + 1]);
        above = here, here = below;
    }
}
