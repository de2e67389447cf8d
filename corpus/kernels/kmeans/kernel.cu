// Two kernels of Rodinia's k-means, in single precision; the thesis calls them km-map and km-pt.
//
// - kmeans_invert_mapping turns an array of points with their features into one of features with
//   their points: a transpose without tiles, each thread with a row of its own.
// - kmeans_point finds for each point the nearest of a few centres.
//
// Rodinia reads the features of kmeans_point through a texture and copies the centres into constant
// memory before each pass. Here the features are a buffer that the kernel only reads, and the
// centres are those of the module: other values would make other clusters and the same work.

constexpr int MOST_CENTRES = 5;
constexpr int FEATURES = 34;

// Centre i's feature j is ((i + 1) (2 j + 3) mod 11) / 10.
struct Centres {
    float features[MOST_CENTRES * FEATURES];

    __device__ constexpr Centres() : features()
    {
        for (int i = 0; i < MOST_CENTRES; ++i)
            for (int j = 0; j < FEATURES; ++j)
                features[i * FEATURES + j] = (i + 1) * (2 * j + 3) % 11 / 10.0f;
    }
};

__constant__ Centres centres;

extern "C" __global__ void kmeans_invert_mapping(const float *by_point, float *by_feature,
                                                 int points, int features)
{
    const int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= points)
        return;
    for (int j = 0; j < features; ++j)
        by_feature[j * points + point] = by_point[point * features + j];
}

// The grid has two dimensions and more threads than there are points.
extern "C" __global__ void kmeans_point(const float *__restrict__ by_feature, int *nearest,
                                        int points, int features, int clusters)
{
    const unsigned block = blockIdx.y * gridDim.x + blockIdx.x;
    const unsigned point = block * blockDim.x + threadIdx.x;
    if (point >= points)
        return;

    int best = -1;
    float least = 3.402823466e+38f;
    for (int i = 0; i < clusters; ++i) {
        float squared = 0.0f;
        for (int j = 0; j < features; ++j) {
            const int place = j * points + point;
            const float difference = by_feature[place] - centres.features[i * features + j];
            squared += difference * difference;
        }
        if (squared < least) {
            least = squared;
            best = i;
        }
    }
    nearest[point] = best;
}
