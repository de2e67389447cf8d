// Rows of four numbers, read number by number.
extern "C" __global__ void planted(const float* __restrict__ table, float* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < rounds; k++) {
        const float* row = table + 4 * (i + 8 * k & 255);
        sum += row[0] * row[1] + row[2] * row[3];
    }
    out[i] = sum;
}

// Row by row.
extern "C" __global__ void mended(const float* __restrict__ table, float* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < rounds; k++) {
        float4 row = reinterpret_cast<const float4*>(table)[i + 8 * k & 255];
        sum += row.x * row.y + row.z * row.w;
    }
    out[i] = sum;
}
