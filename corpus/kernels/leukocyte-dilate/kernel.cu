// Dilation of an image by a disc, in single precision: the kernel of Rodinia's Leukocyte that the
// thesis calls lct-dil.
//
// A pixel becomes the greatest value, at least 0, of the pixels around it that the disc covers. The
// image lies by columns and the result by rows, so that neighbouring threads store a row apart.
// Rodinia reads the image through a texture; here it is a buffer that the kernel only reads. The
// disc is in constant memory. The grid may leave out the last pixels.

constexpr int RADIUS = 12;
constexpr int EXTENT = 2 * RADIUS + 1;

// 1 at the points of a square that are within the radius of its centre, else 0.
struct Disc {
    float covers[EXTENT * EXTENT];

    __device__ constexpr Disc() : covers()
    {
        for (int i = -RADIUS; i <= RADIUS; ++i)
            for (int j = -RADIUS; j <= RADIUS; ++j)
                covers[(i + RADIUS) * EXTENT + j + RADIUS] =
                    i * i + j * j <= RADIUS * RADIUS ? 1.0f : 0.0f;
    }
};

__constant__ Disc disc;

extern "C" __global__ void leukocyte_dilate(const float *__restrict__ image, float *dilated,
                                            int rows, int columns, int disc_rows, int disc_columns)
{
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    const int own_row = pixel % rows;
    const int own_column = pixel / rows;

    float greatest = 0.0f;
    for (int i = 0; i < disc_rows; ++i) {
        const int row = own_row - disc_rows / 2 + i;
        if (row < 0 || row >= rows)
            continue;
        for (int j = 0; j < disc_columns; ++j) {
            const int column = own_column - disc_columns / 2 + j;
            if (column < 0 || column >= columns || disc.covers[i * disc_columns + j] == 0.0f)
                continue;
            const float value = image[column * rows + row];
            if (value > greatest)
                greatest = value;
        }
    }
    dilated[own_row * columns + own_column] = greatest;
}
