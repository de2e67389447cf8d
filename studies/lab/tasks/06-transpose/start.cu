// Transposes a matrix of `rows` x `columns` numbers. Blocks have 32 x 8 threads and take 32 x 32.
extern "C" __global__ void transpose(const float *in, float *out, int rows, int columns)
{
    int column = blockIdx.x * 32 + threadIdx.x;
    for (int k = 0; k < 32; k += 8) {
        int row = blockIdx.y * 32 + threadIdx.y + k;
        if (row < rows && column < columns)
            out[column * rows + row] = in[row * columns + column];
    }
}
