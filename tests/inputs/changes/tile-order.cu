// Tiles read a panel of each of two matrices. Four by four of them follow one another.
extern "C" __global__ void tiles(const float4 *panel_a, const float4 *panel_b, float *out)
{
    int group = blockIdx.x >> 4;
    int row = (group >> 3) * 4 + ((blockIdx.x >> 2) & 3);
    int column = (group & 7) * 4 + (blockIdx.x & 3);
    int tile = row * 32 + column;
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
