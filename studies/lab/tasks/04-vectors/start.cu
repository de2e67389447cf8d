// Particles have a position and a mass: x, y, z, m. Writes m (x^2 + y^2 + z^2) of each.
extern "C" __global__ void moments(const float *particles, float *moment, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = particles[4 * i];
        float y = particles[4 * i + 1];
        float z = particles[4 * i + 2];
        float m = particles[4 * i + 3];
        moment[i] = m * (x * x + y * y + z * z);
    }
}
