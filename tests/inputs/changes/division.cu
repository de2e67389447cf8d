// A plane is walked with a stride; lines and columns follow.
extern "C" __global__ void walk(const float *in, float *out, int width, int stride, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int line = i / width;
    int column = i - line * width;
    float sum = 0.0f;
    for (int k = 0; k < steps; ++k) {
        sum += in[column] + (float)line;
        column += stride;
        while (column >= width) {
            column -= width;
            line += 1;
        }
    }
    out[i] = sum;
}
