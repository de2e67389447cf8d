// A second translation unit: a library has one container for each.

extern "C" __global__ void second(int *out)
{
    out[threadIdx.x] = 2;
}
