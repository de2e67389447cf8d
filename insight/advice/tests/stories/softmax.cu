// The softmax of rows of 256 numbers, a row to a thread, kept in shared memory. The rows of a
// warp's threads begin in the same bank.
extern "C" __global__ void softmax(const float* __restrict__ in, float* __restrict__ out)
{
    __shared__ float rows[32][256];
    int lane = threadIdx.x;
    const float* from = in + blockIdx.x * 32 * 256;
    float* to = out + blockIdx.x * 32 * 256;
    for (int r = 0; r < 32; r++)
        for (int c = lane; c < 256; c += 32)
            rows[r][c] = from[r * 256 + c];
    __syncwarp();
    float most = rows[lane][0];
    for (int c = 1; c < 256; c++)
        most = fmaxf(most, rows[lane][c]);
    float sum = 0;
    for (int c = 0; c < 256; c++) {
        float e = __expf(rows[lane][c] - most);
        rows[lane][c] = e;
        sum += e;
    }
    float factor = 1.0f / sum;
    for (int c = 0; c < 256; c++)
        rows[lane][c] *= factor;
    __syncwarp();
    for (int r = 0; r < 32; r++)
        for (int c = lane; c < 256; c += 32)
            to[r * 256 + c] = rows[r][c];
}
