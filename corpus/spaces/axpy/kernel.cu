// y += a * x: values of a thread, and how many lie side by side.
extern "C" __global__ void __launch_bounds__(block) axpy(const float *x, float *y, float a) {
    int first = blockIdx.x * block * per_thread * vector + threadIdx.x * vector;
#pragma unroll
    for (int i = 0; i < per_thread; i++) {
        int at = first + i * block * vector;
#if vector == 4
        float4 u = *(const float4 *)(x + at), v = *(float4 *)(y + at);
        v.x += a * u.x, v.y += a * u.y, v.z += a * u.z, v.w += a * u.w;
        *(float4 *)(y + at) = v;
#elif vector == 2
        float2 u = *(const float2 *)(x + at), v = *(float2 *)(y + at);
        v.x += a * u.x, v.y += a * u.y;
        *(float2 *)(y + at) = v;
#else
        y[at] += a * x[at];
#endif
    }
}
