// A filter of 32 taps on values in shared memory.
extern "C" __global__ void filter(const float *in, const float *taps_in, float *out)
{
    __shared__ float coefficients[32];
    __shared__ float values[32 + 256];
    int first = blockIdx.x * 256;
    values[threadIdx.x] = in[first + threadIdx.x];
    if (threadIdx.x < 32) {
        values[256 + threadIdx.x] = in[first + 256 + threadIdx.x];
        coefficients[threadIdx.x] = taps_in[threadIdx.x];
    }
    __syncthreads();
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < 32; ++k) {
        sum += coefficients[k] * values[threadIdx.x + k];
    }
    out[first + threadIdx.x] = sum;
}
