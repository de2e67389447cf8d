// A host program; the linker is told not to mind the missing CUDA runtime, as it never runs.

extern "C" __global__ void second(int *out);

int main()
{
    second<<<1, 32>>>(nullptr);
    return 0;
}
