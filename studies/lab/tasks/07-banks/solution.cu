extern "C" __global__ void row_sums(const float *in, float *out, int tiles)
{
    __shared__ float tile[32][33];
    const float *mine = in + 1024 * blockIdx.x;
    for (int row = 0; row < 32; ++row)
        tile[row][threadIdx.x] = mine[32 * row + threadIdx.x];
    __syncthreads();
    float sum = 0.0f;
    for (int column = 0; column < 32; ++column)
        sum += tile[threadIdx.x][column];
    out[32 * blockIdx.x + threadIdx.x] = sum;
}
