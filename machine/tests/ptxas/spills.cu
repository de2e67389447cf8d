// More values than 32 registers hold.
extern "C" __global__ void __launch_bounds__(1024, 2) spills(const float* in, float* out, int n)
{
    int t = threadIdx.x;
    float values[36];
    for (int i = 0; i < 36; i++) values[i] = in[i * n + t];
#pragma unroll 1
    for (int round = 0; round < n; round++)
        for (int i = 0; i < 36; i++)
            values[i] = values[i] * values[(i + 7) % 36] + in[round * 36 + i];
    float sum = 0;
    for (int i = 0; i < 36; i++) sum += values[i];
    out[t] = sum;
}
