// Seven points; a thread goes through some planes.
extern "C" __global__ void __launch_bounds__(block_x * block_y) stencil(const float *in, float *out, int n) {
    int width = n + 2, plane = width * width;
    int x = blockIdx.x * block_x + threadIdx.x + 1, y = blockIdx.y * block_y + threadIdx.y + 1;
    int at = (blockIdx.z * planes + 1) * plane + y * width + x;
    float below = in[at - plane], here = in[at];
    for (int z = 0; z < planes; z++, at += plane) {
        float above = in[at + plane];
        out[at] = 0.14f * (here + below + above + in[at - 1] + in[at + 1] + in[at - width] + in[at + width]);
        below = here, here = above;
    }
}
