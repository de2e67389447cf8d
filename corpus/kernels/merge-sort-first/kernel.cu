// The first pass of a merge sort: every four numbers among themselves, by a sorting network of ten
// comparisons. The kernel of Rodinia's Hybrid Sort that the thesis calls hs-srtf.
//
// Rodinia reads the numbers through a texture; here they are a buffer that the kernel only reads.

__device__ __forceinline__ float lesser(float a, float b)
{
    return a > b ? b : a;
}

__device__ __forceinline__ float greater(float a, float b)
{
    return b > a ? b : a;
}

extern "C" __global__ void merge_sort_first(const float4 *__restrict__ unsorted, float4 *sorted,
                                            int numbers)
{
    const int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= numbers / 4)
        return;

    const float4 given = unsorted[place];
    const float4 pairs = {lesser(given.x, given.y), greater(given.x, given.y),
                          lesser(given.z, given.w), greater(given.z, given.w)};
    // The third result is the greater of the lesser ones, the fourth that of the greater ones.
    const float first = lesser(pairs.x, pairs.z);
    const float second = lesser(pairs.y, pairs.w);
    const float third = greater(pairs.x, pairs.z);
    const float fourth = greater(pairs.y, pairs.w);
    sorted[place] = {first, lesser(second, third), greater(second, third), fourth};
}
