// The first of two kernels of a step of speckle-reducing anisotropic diffusion, in single precision:
// the kernel of Rodinia's SRAD (version 2) that the thesis calls srad-c1.
//
// Each pixel gets the differences to its four neighbours and, from them, a coefficient of diffusion
// between 0 and 1. At an edge of the image a pixel is its own neighbour.
//
// A block of 16 x 16 threads holds its pixels, the rows above and below and the columns at its left
// and right in shared memory. All threads load for all four sides: those of the row above for a
// thread's own column whatever its row, and so on, as Rodinia's do. The image has a further row in
// front of the first and behind the last one, because every block reads beyond its edges before it
// replaces what is beyond the image's. The extents are multiples of 16.

constexpr int TILE = 16;

typedef float Tile[TILE][TILE];

struct Differences {
    float north, south, west, east;
};

extern "C" __global__ void srad_1(float *east_differences, float *west_differences,
                                  float *north_differences, float *south_differences,
                                  const float *padded_image, float *coefficients, int columns,
                                  int rows, float q0_squared)
{
    __shared__ Tile tile, north, south, west, east, results;

    const float *image = padded_image + columns;
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int corner = blockIdx.y * TILE * columns + blockIdx.x * TILE;
    const int own = corner + ty * columns + tx;
    const int first_of_row = corner + ty * columns;

    north[ty][tx] = image[corner + tx - columns];
    south[ty][tx] = image[corner + tx + TILE * columns];
    if (blockIdx.y == 0)
        north[ty][tx] = image[blockIdx.x * TILE + tx];
    else if (blockIdx.y == gridDim.y - 1)
        south[ty][tx] = image[corner + tx + (TILE - 1) * columns];
    __syncthreads();

    west[ty][tx] = image[first_of_row - 1];
    east[ty][tx] = image[first_of_row + TILE];
    if (blockIdx.x == 0)
        west[ty][tx] = image[first_of_row];
    else if (blockIdx.x == gridDim.x - 1)
        east[ty][tx] = image[first_of_row + TILE - 1];
    __syncthreads();

    tile[ty][tx] = image[own];
    __syncthreads();

    const float here = tile[ty][tx];
    Differences d;
    if (ty == 0) {
        d.north = north[ty][tx] - here;
        d.south = tile[ty + 1][tx] - here;
        d.west = (tx == 0 ? west[ty][tx] : tile[ty][tx - 1]) - here;
        d.east = (tx == TILE - 1 ? east[ty][tx] : tile[ty][tx + 1]) - here;
    } else if (ty == TILE - 1) {
        d.north = tile[ty - 1][tx] - here;
        d.south = south[ty][tx] - here;
        d.west = (tx == 0 ? west[ty][tx] : tile[ty][tx - 1]) - here;
        d.east = (tx == TILE - 1 ? east[ty][tx] : tile[ty][tx + 1]) - here;
    } else {
        d.north = tile[ty - 1][tx] - here;
        d.south = tile[ty + 1][tx] - here;
        d.west = (tx == 0 ? west[ty][tx] : tile[ty][tx - 1]) - here;
        d.east = (tx == TILE - 1 ? east[ty][tx] : tile[ty][tx + 1]) - here;
    }

    const float gradient = (d.north * d.north + d.south * d.south + d.west * d.west
                            + d.east * d.east)
                         / (here * here);
    const float laplacian = (d.north + d.south + d.west + d.east) / here;
    const float numerator = 0.5f * gradient - 1.0f / 16.0f * (laplacian * laplacian);
    const float root = 1.0f + 0.25f * laplacian;
    const float q_squared = numerator / (root * root);
    const float excess = (q_squared - q0_squared) / (q0_squared * (1.0f + q0_squared));
    const float coefficient = 1.0f / (1.0f + excess);
    if (coefficient < 0.0f)
        results[ty][tx] = 0.0f;
    else if (coefficient > 1.0f)
        results[ty][tx] = 1.0f;
    else
        results[ty][tx] = coefficient;
    __syncthreads();

    coefficients[own] = results[ty][tx];
    east_differences[own] = d.east;
    west_differences[own] = d.west;
    south_differences[own] = d.south;
    north_differences[own] = d.north;
}
