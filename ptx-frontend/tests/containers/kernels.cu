// Two kernels that touch everything a cubin records: shared and constant memory, a stack frame,
// a parameter of struct type, launch bounds.

struct Pair {
    int first;
    double second;
};

__constant__ float table[16];

extern "C" __global__ void __launch_bounds__(96) scale(float *out, const float *in, float factor)
{
    __shared__ float tile[128];
    int i = threadIdx.x;
    tile[i] = in[i] * table[i & 15];
    __syncthreads();
    out[i] = factor * tile[i ^ 1];
}

extern "C" __global__ void frame(int *out, Pair pair, char flag)
{
    volatile int local[2];
    local[0] = pair.first;
    local[1] = (int)pair.second;
    out[0] = local[flag & 1];
}
