// One step of heat conduction in a chip of nx x ny cells and nz layers, in single precision: the
// kernel of Rodinia's Hotspot3D that the thesis calls 3d-htsp.
//
// A cell's new temperature is a weighted sum of its own, of its six neighbours', of the power that it
// turns to heat and of the ambient temperature. A cell at an edge of the chip is its own neighbour
// beyond that edge. A thread walks through the layers of a column and keeps the temperatures below,
// at and above the cell in registers. nx and ny are multiples of the block's extents.

constexpr float AMBIENT = 80.0f;

struct Weights {
    float power, east, west, north, south, above, below, centre;
};

// The cells of a layer that a thread reads beside its own.
struct Cross {
    int centre, west, east, north, south;

    __device__ __forceinline__ void climb(int layer)
    {
        centre += layer;
        west += layer;
        east += layer;
        north += layer;
        south += layer;
    }
};

__device__ __forceinline__ float warmed(const Weights &w, const Cross &cells, const float *power,
                                        const float *old, float below, float here, float above)
{
    return w.centre * here + w.west * old[cells.west] + w.east * old[cells.east]
         + w.south * old[cells.south] + w.north * old[cells.north] + w.below * below
         + w.above * above + w.power * power[cells.centre] + w.above * AMBIENT;
}

extern "C" __global__ void hotspot3d(const float *power, const float *old_temperature,
                                     float *new_temperature, float power_weight, int nx, int ny,
                                     int nz, float east, float west, float north, float south,
                                     float above, float below, float centre)
{
    const Weights weights{power_weight, east, west, north, south, above, below, centre};
    const int layer = nx * ny;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;

    Cross cells;
    cells.centre = j * nx + i;
    cells.west = i > 0 ? cells.centre - 1 : cells.centre;
    cells.east = i < nx - 1 ? cells.centre + 1 : cells.centre;
    cells.north = j > 0 ? cells.centre - nx : cells.centre;
    cells.south = j < ny - 1 ? cells.centre + nx : cells.centre;

    float here = old_temperature[cells.centre];
    float over = old_temperature[cells.centre + layer];
    new_temperature[cells.centre] =
        warmed(weights, cells, power, old_temperature, here, here, over);
    cells.climb(layer);

    float under = here;
    for (int k = 1; k < nz - 1; ++k) {
        under = here;
        here = over;
        over = old_temperature[cells.centre + layer];
        new_temperature[cells.centre] =
            warmed(weights, cells, power, old_temperature, under, here, over);
        cells.climb(layer);
    }

    new_temperature[cells.centre] =
        warmed(weights, cells, power, old_temperature, here, over, over);
}
