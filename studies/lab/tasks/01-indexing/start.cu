// Multiplies each of n numbers by a factor.
extern "C" __global__ void scale(float *x, float factor, int n)
{
    // Each thread takes one number. Which one?
    int i = threadIdx.x;
    if (i < n)
        x[i] = x[i] * factor;
}
