// The 7-point stencil with constant coefficients of Yang and Williams 2019 ("DRAM vs L1 Arithmetic
// Intensity"), in double precision: -6 times the point plus its six neighbours.
//
// A block of 32 x 4 threads walks through a column of the domain, so that neighbouring blocks stay
// at the same height and share rows and planes in the L2.
//
// The domain has dim^3 inner points and a layer of boundary points. A row is dim inner points, the
// boundary point behind them, two elements of padding and the boundary point before the next row:
// the inner points of every row begin a 32-byte sector. dim is a multiple of 32.

constexpr int BLOCK_X = 32;
constexpr int BLOCK_Y = 4;

extern "C" __global__ void stencil_7pt(const double *old_values, double *new_values, int dim)
{
    const int row = dim + 4;
    const int plane = row * (dim + 2);
    const int i = blockIdx.x * BLOCK_X + threadIdx.x;
    const int j = blockIdx.y * BLOCK_Y + threadIdx.y;

    int point = plane + (j + 1) * row + i;
#pragma unroll 1
    for (int k = 0; k < dim; ++k, point += plane)
        new_values[point] = -6.0 * old_values[point]
                          + old_values[point - 1] + old_values[point + 1]
                          + old_values[point - row] + old_values[point + row]
                          + old_values[point - plane] + old_values[point + plane];
}
