// Distances in the plane of all records from one place, in single precision: the kernel of Rodinia's
// k-Nearest Neighbors that the thesis calls nn-euc.

struct Place {
    float latitude, longitude;
};

extern "C" __global__ void nearest_neighbour(const Place *places, float *distances, int records,
                                             float latitude, float longitude)
{
    const int record = blockDim.x * (gridDim.x * blockIdx.y + blockIdx.x) + threadIdx.x;
    if (record >= records)
        return;
    const float north = latitude - places[record].latitude;
    const float east = longitude - places[record].longitude;
    distances[record] = sqrtf(north * north + east * east);
}
