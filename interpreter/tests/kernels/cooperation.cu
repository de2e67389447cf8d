// Blocks that wait for each other: a grid barrier, and chains in both directions.
// cooperation.ptx: nvcc 13.5, -ptx -arch=compute_80 -o cooperation.ptx cooperation.cu
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Every thread reads what another block's thread wrote before the barrier of the grid.
extern "C" __global__ void rotate(int *values, int distance)
{
    auto grid = cg::this_grid();
    int at = grid.thread_rank(), count = grid.size();
    values[at] = at;
    grid.sync();
    int taken = values[(at + distance) % count];
    grid.sync();
    values[at] = taken;
}

// Each block waits for the one before it (forward) or behind it, and adds one to its number.
extern "C" __global__ void chain(volatile int *numbers, int forward)
{
    if (threadIdx.x != 0)
        return;
    int last = gridDim.x - 1;
    int other = forward ? blockIdx.x - 1 : blockIdx.x + 1;
    int number = 1;
    if (other >= 0 && other <= last) {
        while (numbers[other] == 0) {
        }
        number = numbers[other] + 1;
    }
    __threadfence();
    numbers[blockIdx.x] = number;
}
