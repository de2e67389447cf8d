// A program that tests the kernel of sums.cu with as many numbers as its argument says.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "sums.cu"

int main(int, char **arguments)
{
    int n = std::atoi(arguments[1]);
    int blocks = (n + THREADS - 1) / THREADS;
    std::vector<float> numbers(n), sums(blocks);
    for (int i = 0; i < n; i++)
        numbers[i] = std::sin(i);

    float *x, *out;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&out, blocks * sizeof(float));
    cudaMemcpy(x, numbers.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    block_sums<<<blocks, THREADS>>>(x, out, n);
    if (cudaMemcpy(sums.data(), out, blocks * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) {
        std::printf("%s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }

    for (int block = 0; block < blocks; block++) {
        float sum = 0;
        for (int i = block * THREADS; i < n && i < (block + 1) * THREADS; i++)
            sum += numbers[i];
        if (std::fabs(sums[block] - sum) > 1e-4f) {
            std::printf("block %d: %g, and not %g\n", block, sums[block], sum);
            return 1;
        }
    }
    return 0;
}
