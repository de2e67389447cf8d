// A Gauss-Seidel red-black smoother like HPGMG's, in the three versions that Yang and Williams 2019
// compare ("Code Example 2: HPGMG"). Points of one colour are relaxed, those of the other one
// copied:
//
//     out = x + inverse * (right - operator(x))     where i + j + k is even
//     out = x                                       elsewhere
//
// The operator is the 7-point one with variable coefficients at the faces of the cells:
//
//     operator(x) = -scale * sum over the six faces of coefficient(face) * (neighbour - x)
//
// and face i lies between points i - 1 and i. All numbers are doubles.
//
// - gsrb_fp multiplies the correction at every point by a mask of ones and zeros.
// - gsrb_branch computes it only where the mask would be one.
// - gsrb_stride2 gives a thread a pair of neighbours in a row: one to copy, one to relax.
//
// There are boxes of dim^3 inner points, one after the other, each with a layer of boundary points.
// A row is dim inner points, the boundary point behind them, two elements of padding and the
// boundary point before the next row. A block of 32 x 4 threads walks through 8 planes; its z index
// counts boxes and, within a box, groups of planes. dim is a multiple of 64.

constexpr int BLOCK_X = 32;
constexpr int BLOCK_Y = 4;
constexpr int PLANES = 8;

struct Box {
    const double *x, *right, *inverse, *face_i, *face_j, *face_k;
    double scale;
    int row, plane;

    __device__ __forceinline__ double correction(int p) const
    {
        const double here = x[p];
        const double flow = face_i[p + 1] * (x[p + 1] - here) + face_i[p] * (x[p - 1] - here)
                          + face_j[p + row] * (x[p + row] - here) + face_j[p] * (x[p - row] - here)
                          + face_k[p + plane] * (x[p + plane] - here)
                          + face_k[p] * (x[p - plane] - here);
        return inverse[p] * (right[p] + scale * flow);
    }
};

// The part of the domain that a block works on.
struct Part {
    int row, plane, box, k;

    __device__ __forceinline__ explicit Part(int dim)
    {
        row = dim + 4;
        plane = row * (dim + 2);
        const int groups = dim / PLANES;
        box = blockIdx.z / groups;
        k = blockIdx.z % groups * PLANES;
    }

    __device__ __forceinline__ int place(int i, int j, int dim) const
    {
        return (box * (dim + 2) + k + 1) * plane + (j + 1) * row + i;
    }
};

#define ARGUMENTS                                                                                  \
    const double *x, double *out, const double *right, const double *inverse,                      \
        const double *face_i, const double *face_j, const double *face_k

#define THE_BOX                                                                                    \
    const Box box{x, right, inverse, face_i, face_j, face_k, scale, part.row, part.plane}

// The mask has two planes in the shape of a box's: ones at the even points, ones at the odd points.
extern "C" __global__ void gsrb_fp(ARGUMENTS, const double *mask, double scale, int dim)
{
    const Part part(dim);
    THE_BOX;
    const int i = blockIdx.x * BLOCK_X + threadIdx.x;
    const int j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int flat = (j + 1) * part.row + i;
    int p = part.place(i, j, dim);
#pragma unroll 1
    for (int k = part.k; k < part.k + PLANES; ++k, p += part.plane)
        out[p] = x[p] + mask[(k & 1) * part.plane + flat] * box.correction(p);
}

extern "C" __global__ void gsrb_branch(ARGUMENTS, double scale, int dim)
{
    const Part part(dim);
    THE_BOX;
    const int i = blockIdx.x * BLOCK_X + threadIdx.x;
    const int j = blockIdx.y * BLOCK_Y + threadIdx.y;
    int p = part.place(i, j, dim);
#pragma unroll 1
    for (int k = part.k; k < part.k + PLANES; ++k, p += part.plane) {
        double value = x[p];
        if (((i ^ j ^ k) & 1) == 0)
            value += box.correction(p);
        out[p] = value;
    }
}

extern "C" __global__ void gsrb_stride2(ARGUMENTS, double scale, int dim)
{
    const Part part(dim);
    THE_BOX;
    const int i = 2 * (blockIdx.x * BLOCK_X + threadIdx.x);
    const int j = blockIdx.y * BLOCK_Y + threadIdx.y;
    int p = part.place(i, j, dim);
#pragma unroll 1
    for (int k = part.k; k < part.k + PLANES; ++k, p += part.plane) {
        // i is even: the point to relax is this one or the next.
        const int odd = (j ^ k) & 1;
        const int copied = p + 1 - odd;
        const int relaxed = p + odd;
        out[copied] = x[copied];
        out[relaxed] = x[relaxed] + box.correction(relaxed);
    }
}
