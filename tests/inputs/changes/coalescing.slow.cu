// An image is scaled, a pixel a thread.
extern "C" __global__ void scale(const float *image, float *out, int width, int height, float factor)
{
    int row = blockIdx.y * blockDim.y + threadIdx.x;
    int column = blockIdx.x * blockDim.x + threadIdx.y;
    if (row < height && column < width) {
        out[row * width + column] = factor * image[row * width + column];
    }
}
