// A polynomial of degree 64 by Horner's rule: chains of a thread that do not wait for each other.
extern "C" __global__ void __launch_bounds__(block) polynomial(const float *x, float *y) {
    int first = blockIdx.x * block * chains + threadIdx.x;
    float at[chains], value[chains];
#pragma unroll
    for (int i = 0; i < chains; i++) at[i] = x[first + i * block], value[i] = 1.0f;
#pragma unroll unrolled
    for (int power = 0; power < 64; power++)
#pragma unroll
        for (int i = 0; i < chains; i++) value[i] = value[i] * at[i] + 0.5f;
#pragma unroll
    for (int i = 0; i < chains; i++) y[first + i * block] = value[i];
}
