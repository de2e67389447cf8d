// Smooths each block's 256 numbers by their neighbours within the block.
extern "C" __global__ void smooth(const float *x, float *y, int n)
{
    // Room for the numbers, and for all intermediate results that one may want to look at.
    __shared__ float stage[48][256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int t = threadIdx.x;
    stage[0][t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int k = 1; k < 48; ++k) {
        float left = t > 0 ? stage[k - 1][t - 1] : stage[k - 1][t];
        float right = t < 255 ? stage[k - 1][t + 1] : stage[k - 1][t];
        stage[k][t] = 0.25f * left + 0.5f * stage[k - 1][t] + 0.25f * right;
        __syncthreads();
    }
    if (i < n)
        y[i] = stage[47][t];
}
