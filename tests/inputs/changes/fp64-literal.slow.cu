// Values decay and are weighted.
extern "C" __global__ void decay(const float *in, const float *weights, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
    float value = in[i];
    float weight = weights[i & 255];
    for (int k = 0; k < 8; ++k) {
        value = value * weight + 0.1;
    }
    out[i] = value;
    }
}
