// Kernels that read textures and write surfaces. `textures.ptx` is what NVRTC 11.8 makes of this file
// for compute_52; later compilers know no texture and surface variables.

texture<float, cudaTextureType1D, cudaReadModeElementType> values;
texture<unsigned char, cudaTextureType2D, cudaReadModeNormalizedFloat> picture;
surface<void, cudaSurfaceType2D> canvas;
texture<float, cudaTextureType2D, cudaReadModeElementType> pyramid;

// Elements of linear memory.
extern "C" __global__ void gather(const int *index, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex1Dfetch(values, index[i]);
}

// A picture, moved by some texels, to a surface.
extern "C" __global__ void paint(int width, int height, float dx, float dy)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < width && y < height)
        surf2Dwrite(tex2D(picture, x + 0.5f + dx, y + 0.5f + dy), canvas, x * 4, y);
}

extern "C" __global__ void sample_plane(cudaTextureObject_t from, float *out, int width, float dx, float dy)
{
    int x = threadIdx.x, y = blockIdx.x;
    out[y * width + x] = tex2D<float>(from, x + 0.5f + dx, y + 0.5f + dy);
}

extern "C" __global__ void sample_layers(cudaTextureObject_t from, float2 *out, int width, int height)
{
    int x = threadIdx.x, y = blockIdx.x, layer = blockIdx.y;
    out[(layer * height + y) * width + x] = tex2DLayered<float2>(from, x + 0.5f, y + 0.5f, layer);
}

extern "C" __global__ void sample_volume(cudaTextureObject_t from, short *out, int width, int height)
{
    int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    out[(z * height + y) * width + x] = tex3D<short>(from, x + 0.5f, y + 0.5f, z + 0.5f);
}

// The middles of the faces of a cube.
extern "C" __global__ void sample_cube(cudaTextureObject_t from, float *out)
{
    float x = threadIdx.x == 0 ? 1 : threadIdx.x == 1 ? -1 : 0;
    float y = threadIdx.x == 2 ? 1 : threadIdx.x == 3 ? -1 : 0;
    float z = threadIdx.x == 4 ? 1 : threadIdx.x == 5 ? -1 : 0;
    out[threadIdx.x] = texCubemap<float>(from, x, y, z);
}

// The middles of the texels of the largest level, at a level of detail.
extern "C" __global__ void sample_level(cudaTextureObject_t from, float *out, int width, int height, float detail)
{
    int x = threadIdx.x, y = blockIdx.x;
    out[y * width + x] = tex2DLod<float>(from, (x + 0.5f) / width, (y + 0.5f) / height, detail);
}

// The same, where neighbours are so many texels apart along both axes.
extern "C" __global__ void sample_gradient(cudaTextureObject_t from, float *out, int width, int height, float apart)
{
    int x = threadIdx.x, y = blockIdx.x;
    float2 dx = make_float2(apart / width, 0), dy = make_float2(0, apart / height);
    out[y * width + x] = tex2DGrad<float>(from, (x + 0.5f) / width, (y + 0.5f) / height, dx, dy);
}

// The same as the first, through a variable.
extern "C" __global__ void sample_pyramid(float *out, int width, int height, float detail)
{
    int x = threadIdx.x, y = blockIdx.x;
    out[y * width + x] = tex2DLod(pyramid, (x + 0.5f) / width, (y + 0.5f) / height, detail);
}

// Twice each element of a surface.
extern "C" __global__ void double_surface(cudaSurfaceObject_t from, cudaSurfaceObject_t to)
{
    int x = threadIdx.x, y = blockIdx.x;
    surf2Dwrite(2 * surf2Dread<int>(from, x * 4, y), to, x * 4, y);
}

// The number of each place in a layered surface.
extern "C" __global__ void number_layers(cudaSurfaceObject_t to, int width, int height)
{
    int x = threadIdx.x, y = blockIdx.x, layer = blockIdx.y;
    surf2DLayeredwrite((layer * height + y) * width + x, to, x * 4, y, layer);
}
