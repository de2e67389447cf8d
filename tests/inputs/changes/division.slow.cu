// A plane is walked with a stride; lines and columns are divided.
extern "C" __global__ void walk(const float *in, float *out, int width, int stride, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < steps; ++k) {
        int at = i + k * stride;
        int line = at / width;
        int column = at % width;
        sum += in[column] + (float)line;
    }
    out[i] = sum;
}
