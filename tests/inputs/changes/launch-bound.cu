// Forty-eight sums a thread are kept in registers.
extern "C" __global__ void __launch_bounds__(256) products(const float *left, const float *right, float *out, int steps)
{
    const float *a = left + threadIdx.x;
    const float *b = right + blockIdx.x;
    float sums[48] = {};
    for (int step = 0; step < steps; ++step) {
        float own = a[step * 256];
        for (int i = 0; i < 48; ++i) sums[i] += own * b[step * 48 + i];
    }
    for (int i = 0; i < 48; ++i) {
        out[(blockIdx.x * 48 + i) * 256 + threadIdx.x] = sums[i];
    }
}
