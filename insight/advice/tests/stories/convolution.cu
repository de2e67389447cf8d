// A 5 × 5 convolution of an image. `threadIdx.x` counts rows, so the threads of a warp read words
// that lie a whole row apart.
extern "C" __global__ void convolution(const float* __restrict__ image,
                                       const float* __restrict__ weights,
                                       float* __restrict__ result, int width, int height)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    int x = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width - 4 || y >= height - 4) return;
    float sum = 0;
    for (int j = 0; j < 5; j++)
        for (int i = 0; i < 5; i++)
            sum += image[(y + j) * width + x + i] * weights[j * 5 + i];
    result[y * width + x] = sum;
}
