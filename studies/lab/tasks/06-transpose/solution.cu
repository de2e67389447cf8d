extern "C" __global__ void transpose(const float *in, float *out, int rows, int columns)
{
    __shared__ float tile[32][33];
    int column = blockIdx.x * 32 + threadIdx.x;
    for (int k = threadIdx.y; k < 32; k += 8) {
        int row = blockIdx.y * 32 + k;
        if (row < rows && column < columns)
            tile[k][threadIdx.x] = in[row * columns + column];
    }
    __syncthreads();
    int row = blockIdx.y * 32 + threadIdx.x;
    for (int k = threadIdx.y; k < 32; k += 8) {
        int column = blockIdx.x * 32 + k;
        if (row < rows && column < columns)
            out[column * rows + row] = tile[threadIdx.x][k];
    }
}
