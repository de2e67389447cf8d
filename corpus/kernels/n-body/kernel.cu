// One step of n bodies under gravity, all pairs (Nyland, Harris and Prins, GPU Gems 3, chapter 31).
// A thread follows one body; a block of 256 reads the others by tiles of 256 through shared memory.
//
// Positions are x, y, z and mass, velocities x, y, z and nothing. New positions go to a buffer of
// their own, since other blocks still read the old ones.

constexpr int TILE = 256;
constexpr float SOFTENING_SQUARED = 0.1f * 0.1f;

__device__ __forceinline__ float3 interaction(float3 acceleration, float4 self, float4 other)
{
    const float3 r = {other.x - self.x, other.y - self.y, other.z - self.z};
    const float squared = r.x * r.x + r.y * r.y + r.z * r.z + SOFTENING_SQUARED;
    const float inverse = rsqrtf(squared);
    const float scale = other.w * (inverse * inverse * inverse);
    acceleration.x += r.x * scale;
    acceleration.y += r.y * scale;
    acceleration.z += r.z * scale;
    return acceleration;
}

extern "C" __global__ void n_body(float4 *new_positions, const float4 *positions, float4 *velocities,
                                  int n, float time_step, float damping)
{
    __shared__ float4 tile[TILE];
    const int body = blockIdx.x * TILE + threadIdx.x;
    const float4 self = positions[body];

    float3 acceleration = {0.0f, 0.0f, 0.0f};
    for (int first = 0; first < n; first += TILE) {
        tile[threadIdx.x] = positions[first + threadIdx.x];
        __syncthreads();
#pragma unroll 32
        for (int i = 0; i < TILE; i++)
            acceleration = interaction(acceleration, self, tile[i]);
        __syncthreads();
    }

    float4 velocity = velocities[body];
    velocity.x = (velocity.x + acceleration.x * time_step) * damping;
    velocity.y = (velocity.y + acceleration.y * time_step) * damping;
    velocity.z = (velocity.z + acceleration.z * time_step) * damping;
    new_positions[body] = {self.x + velocity.x * time_step, self.y + velocity.y * time_step,
                           self.z + velocity.z * time_step, self.w};
    velocities[body] = velocity;
}
