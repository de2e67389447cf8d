// One red pass of red/black SOR for the Laplace equation, in double precision, after
// Konstantinidis 2017, section 5.1.1 (equation 5.2, figures 5.2 and 5.3).
//
// The grid has ROWS x COLUMNS inner points and a frame of boundary points around them. Point
// (i, j), i counting columns and j rows, is red where i + j is even. The points are reordered by
// colour: each colour has a matrix of its own with ROWS + 2 rows, in which (i, j) sits in row j,
// column i / 2. In that layout the four black neighbours of a red point are three in its own
// column (above, beside, below) and one to the left in even rows or to the right in odd rows.
//
// The sizes are template arguments, as in the thesis, so that the address arithmetic folds.

constexpr int BLOCK_X = 128;
constexpr int BLOCK_Y = 4;

// The speed of convergence is not what is looked at, so any factor will do (section 5.1.1).
constexpr double OMEGA = 1.9;

template <int ROWS, int COLUMNS>
__device__ __forceinline__ void red_pass(double *red, const double *black)
{
    static_assert(ROWS % BLOCK_Y == 0, "blocks cover the rows exactly");
    static_assert(COLUMNS % 2 == 0, "both colours have as many points in every row");

    // A row of one colour holds COLUMNS / 2 inner points and one boundary point. Rows are padded
    // to 128 bytes, with at least one element of padding: the tile's edge is read there.
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
        // The halo. The rows above and below are coalesced; the columns at the left and right are
        // read one by one, "inefficient but unavoidable".
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
        const double sum = tile[ty][tx + 1] + tile[ty + 2][tx + 1] + tile[ty + 1][tx + 1]
                         + tile[ty + 1][tx + 2 * odd];
        red[index] = (1.0 - OMEGA) * red[index] + OMEGA * sum / 4.0;
    }
}

extern "C" __global__ void sor_red_8192x8192(double *red, const double *black)
{
    red_pass<8192, 8192>(red, black);
}

extern "C" __global__ void sor_red_16x512(double *red, const double *black)
{
    red_pass<16, 512>(red, black);
}
