extern "C" __global__ void moments(const float4 *particles, float *moment, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 p = particles[i];
        moment[i] = p.w * (p.x * p.x + p.y * p.y + p.z * p.z);
    }
}
