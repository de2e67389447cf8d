// Tiles read a panel of each of two matrices. A whole row of them follows one another.
extern "C" __global__ void tiles(const float4 *panel_a, const float4 *panel_b, float *out)
{
    int tile = blockIdx.x;
    int row = tile >> 5;
    int column = tile & 31;
    const float4 *a = panel_a + row * 16384;
    const float4 *b = panel_b + column * 16384;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < 16384; i += 1024) {
        float4 x = a[i];
        float4 y = b[i];
        sum += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
    }
    out[tile * 1024 + threadIdx.x] = sum;
}
