// One red pass of LMSOR (local modified SOR) for the convection-diffusion equation, in double
// precision: "GPU Kernel #2" of Konstantinidis 2017, section 5.1.2 (equations 5.6, 5.9 - 5.11).
//
// Kernel #2 recomputes the four coefficients of a point from f' = h f / 2 and g' = k g / 2
// (equation 5.11), which takes two matrices instead of four. Every point has a relaxation factor
// of its own.
//
// Points are reordered by colour as in the red/black SOR kernel: point (i, j), i counting columns
// and j rows, is red where i + j is even and sits in row j, column i / 2 of its colour's matrix.
// f_red, g_red and omega_red hold the values at red points, in the layout of `red`.
//
// The thesis reads these matrices through textures. Here `const __restrict__` lets the compiler
// use the same cache through ld.global.nc.

constexpr int BLOCK_X = 32;
constexpr int BLOCK_Y = 8;

template <int ROWS, int COLUMNS>
__device__ __forceinline__ void red_pass(double *__restrict__ red,
                                         const double *__restrict__ black,
                                         const double *__restrict__ f_red,
                                         const double *__restrict__ g_red,
                                         const double *__restrict__ omega_red, double w)
{
    static_assert(ROWS % BLOCK_Y == 0, "blocks cover the rows exactly");
    static_assert(COLUMNS % 2 == 0, "both colours have as many points in every row");

    constexpr int LAST = COLUMNS / 2;
    constexpr int PITCH = (LAST + 2 + 15) / 16 * 16;

    __shared__ double tile[BLOCK_Y + 2][BLOCK_X + 2];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int column = blockIdx.x * BLOCK_X + tx;
    const int row = blockIdx.y * BLOCK_Y + ty + 1;
    const int index = row * PITCH + column;

    if (column <= LAST) {
        tile[ty + 1][tx + 1] = black[index];
        if (ty == 0)
            tile[0][tx + 1] = black[index - PITCH];
        if (ty == BLOCK_Y - 1)
            tile[BLOCK_Y + 1][tx + 1] = black[index + PITCH];
        if (tx == 0)
            tile[ty + 1][0] = black[index - 1];
        if (tx == BLOCK_X - 1)
            tile[ty + 1][BLOCK_X + 1] = black[index + 1];
    }
    __syncthreads();

    // Even rows start with a boundary point, odd rows end with one.
    const int odd = row & 1;
    if (column >= 1 - odd && column <= LAST - odd) {
        const double f = f_red[index];
        const double g = g_red[index];
        const double omega = omega_red[index];

        // Equation 5.11; w is constant during the computation.
        const double left = w * (1.0 + f);
        const double right = w * (1.0 - f);
        const double top = w * (1.0 - g);
        const double bottom = w * (1.0 + g);

        // Equation 5.10, the local Jacobi operator; the top is row j + 1.
        const double jacobi = left * tile[ty + 1][tx + odd] + right * tile[ty + 1][tx + 1 + odd]
                            + top * tile[ty + 2][tx + 1] + bottom * tile[ty][tx + 1];

        red[index] = (1.0 - omega) * red[index] + omega * jacobi;
    }
}

extern "C" __global__ void lmsor_red_3840x3840(double *red, const double *black,
                                               const double *f_red, const double *g_red,
                                               const double *omega_red, double w)
{
    red_pass<3840, 3840>(red, black, f_red, g_red, omega_red, w);
}

extern "C" __global__ void lmsor_red_16x128(double *red, const double *black,
                                            const double *f_red, const double *g_red,
                                            const double *omega_red, double w)
{
    red_pass<16, 128>(red, black, f_red, g_red, omega_red, w);
}
