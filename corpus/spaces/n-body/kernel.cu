// Forces of all bodies on each: bodies of a thread, and those that shared memory holds at a time.
extern "C" __global__ void __launch_bounds__(block) bodies(const float4 *at, float4 *force, int n) {
    __shared__ float4 some[block];
    int first = blockIdx.x * block * per_thread + threadIdx.x;
    float4 mine[per_thread];
    float x[per_thread] = {}, y[per_thread] = {}, z[per_thread] = {};
    for (int i = 0; i < per_thread; i++) mine[i] = at[first + i * block];
    for (int tile = 0; tile < n; tile += block) {
        some[threadIdx.x] = at[tile + threadIdx.x];
        __syncthreads();
#pragma unroll unrolled
        for (int j = 0; j < block; j++) {
            float4 other = some[j];
#pragma unroll
            for (int i = 0; i < per_thread; i++) {
                float dx = other.x - mine[i].x, dy = other.y - mine[i].y, dz = other.z - mine[i].z;
                float near = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
                float pull = other.w * near * near * near;
                x[i] += pull * dx, y[i] += pull * dy, z[i] += pull * dz;
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < per_thread; i++) force[first + i * block] = make_float4(x[i], y[i], z[i], 0.0f);
}
