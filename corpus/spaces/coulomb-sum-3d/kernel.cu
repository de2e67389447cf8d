// The electrostatic potential of point charges on a grid in space, by direct summation.
//
// A thread owns POINTS grid points above each other. For each atom it computes the distance in x
// and y once and steps through its points by adding the spacing to the distance in z. The atoms lie
// in memory as records of four floats, or as four arrays.
//
// The tuning parameters are those of KTT's example CoulombSum3d (corpus/README.md). Each member of
// the space of points, unrolling and layout is an entry of its own; the block's shape is the
// launch's.

enum Layout { RECORDS, ARRAYS };

struct Atom {
    float x, y, z, charge;
};

struct Atoms {
    const float4 *records;
    const float *x, *y, *z, *charge;
};

template <Layout LAYOUT> __device__ __forceinline__ Atom load(const Atoms &atoms, int i)
{
    if (LAYOUT == ARRAYS)
        return {atoms.x[i], atoms.y[i], atoms.z[i], atoms.charge[i]};
    const float4 record = atoms.records[i];
    return {record.x, record.y, record.z, record.w};
}

// UNROLL of 0 leaves the loop over points to the compiler: it ignores such a pragma.
template <int POINTS, int UNROLL, Layout LAYOUT>
__device__ __forceinline__ void sum_potential(const Atoms &atoms, int count, float spacing, int side,
                                              float *potential)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int bottom = (blockIdx.z * blockDim.z + threadIdx.z) * POINTS;
    if (column >= side || row >= side)
        return;
    const float3 place = {spacing * column, spacing * row, spacing * bottom};

    float sums[POINTS];
    for (int point = 0; point < POINTS; point++)
        sums[point] = 0.0f;
    for (int i = 0; i < count; i++) {
        const Atom atom = load<LAYOUT>(atoms, i);
        const float dx = place.x - atom.x;
        const float dy = place.y - atom.y;
        float dz = place.z - atom.z;
#pragma unroll UNROLL
        for (int point = 0; point < POINTS; point++) {
            sums[point] += atom.charge * rsqrtf(dx * dx + dy * dy + dz * dz);
            dz += spacing;
        }
    }

    const int plane = side * side;
    const int first = plane * bottom + side * row + column;
    for (int point = 0; point < POINTS; point++)
        if (bottom + point < side)
            potential[first + plane * point] += sums[point];
}

#define MEMBER(POINTS, UNROLL, LAYOUT, NAME)                                                       \
    extern "C" __global__ void coulomb_z##POINTS##_u##UNROLL##_##NAME(                             \
        const float4 *records, const float *x, const float *y, const float *z,                     \
        const float *charge, int count, float spacing, int side, float *potential)                 \
    {                                                                                              \
        sum_potential<POINTS, UNROLL, LAYOUT>({records, x, y, z, charge}, count, spacing, side,    \
                                              potential);                                          \
    }
#define BOTH_LAYOUTS(POINTS, UNROLL)                                                               \
    MEMBER(POINTS, UNROLL, RECORDS, records)                                                       \
    MEMBER(POINTS, UNROLL, ARRAYS, arrays)

BOTH_LAYOUTS(1, 0)
BOTH_LAYOUTS(2, 0)
BOTH_LAYOUTS(2, 1)
BOTH_LAYOUTS(4, 0)
BOTH_LAYOUTS(4, 1)
BOTH_LAYOUTS(4, 2)
BOTH_LAYOUTS(8, 0)
BOTH_LAYOUTS(8, 1)
BOTH_LAYOUTS(8, 2)
BOTH_LAYOUTS(8, 4)
BOTH_LAYOUTS(16, 0)
BOTH_LAYOUTS(16, 1)
BOTH_LAYOUTS(16, 2)
BOTH_LAYOUTS(16, 4)
BOTH_LAYOUTS(16, 8)
BOTH_LAYOUTS(32, 0)
BOTH_LAYOUTS(32, 1)
BOTH_LAYOUTS(32, 2)
BOTH_LAYOUTS(32, 4)
BOTH_LAYOUTS(32, 8)
BOTH_LAYOUTS(32, 16)
