/* A program that uses arrays, textures and surfaces, each checked against loops. With REFERENCES it
   binds textures to variables, as programs before CUDA 12 do. The kernels are those of `textures.cu`. */

#define KERNELS(DO)                                                                               \
    DO(gather) DO(paint) DO(sample_plane) DO(sample_layers) DO(sample_volume) DO(sample_cube)     \
    DO(sample_level) DO(sample_gradient) DO(sample_pyramid) DO(double_surface) DO(number_layers)
#include "runtime.h"
#include <math.h>
#include <string.h>

#define DO(call)                                                                     \
    do {                                                                             \
        int error_ = (int)(call);                                                    \
        if (error_) {                                                                \
            printf("%d: %s: error %d\n", __LINE__, #call, error_);                   \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)
#define MUST(condition)                                                              \
    do {                                                                             \
        if (!(condition)) {                                                          \
            printf("%d: not so: %s\n", __LINE__, #condition);                        \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)
#define LAUNCH(kernel, grid, block, ...)                                             \
    do {                                                                             \
        void *arguments_[] = {__VA_ARGS__};                                          \
        DO(cudaLaunchKernel(KERNEL(kernel), grid, block, arguments_, 0, 0));         \
    } while (0)

typedef struct cudaArray *cudaArray_t;
typedef struct cudaMipmappedArray *cudaMipmappedArray_t;
typedef unsigned long long Object;
typedef struct cudaChannelFormatDesc Format;
struct cudaResourceDesc {
    int resType;
    union { cudaArray_t array; cudaMipmappedArray_t mipmap; int reserved[32]; } res;
    unsigned flags;
};
struct cudaTextureDesc {
    int addressMode[3], filterMode, readMode, sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
};
struct cudaResourceViewDesc {
    int format;
    size_t width, height, depth;
    unsigned firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer, reserved[16];
};
enum { layered = 1, surface = 2, cube = 4 };
enum { wrap, clamp, mirror, border };
enum { nearest, linear };

Format cudaCreateChannelDesc(int, int, int, int, int);
cudaError_t cudaMallocArray(cudaArray_t *, const Format *, size_t, size_t, unsigned);
cudaError_t cudaMalloc3DArray(cudaArray_t *, const Format *, struct cudaExtent, unsigned);
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *, struct cudaExtent);
cudaError_t cudaMemset3D(struct cudaPitchedPtr, int, struct cudaExtent);
cudaError_t cudaFreeArray(cudaArray_t);
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *, const Format *, struct cudaExtent, unsigned, unsigned);
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *, cudaMipmappedArray_t, unsigned);
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t);
cudaError_t cudaMipmappedArrayGetMemoryRequirements(void *, cudaMipmappedArray_t, int);
cudaError_t cudaArrayGetInfo(Format *, struct cudaExtent *, unsigned *, cudaArray_t);
cudaError_t cudaGetChannelDesc(Format *, cudaArray_t);
cudaError_t cudaMemcpyToArray(cudaArray_t, size_t, size_t, const void *, size_t, int);
cudaError_t cudaMemcpyFromArray(void *, cudaArray_t, size_t, size_t, size_t, int);
cudaError_t cudaMemcpy2DToArray(cudaArray_t, size_t, size_t, const void *, size_t, size_t, size_t, int);
cudaError_t cudaMemcpy2DFromArray(void *, size_t, cudaArray_t, size_t, size_t, size_t, size_t, int);
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t, size_t, size_t, cudaArray_t, size_t, size_t, size_t, size_t, int);
cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *);
cudaError_t cudaCreateTextureObject(Object *, const struct cudaResourceDesc *, const struct cudaTextureDesc *, const void *);
cudaError_t cudaDestroyTextureObject(Object);
cudaError_t cudaCreateSurfaceObject(Object *, const struct cudaResourceDesc *);
cudaError_t cudaDestroySurfaceObject(Object);

static dim3 three(unsigned x, unsigned y, unsigned z)
{
    dim3 value = {x, y, z};
    return value;
}
static Format reals(int channels)
{
    return cudaCreateChannelDesc(32, channels > 1 ? 32 : 0, 0, 0, cudaChannelFormatKindFloat);
}
static struct cudaResourceDesc of(cudaArray_t array)
{
    struct cudaResourceDesc resource;
    memset(&resource, 0, sizeof resource);
    resource.res.array = array;
    return resource;
}
static struct cudaTextureDesc reading(int mode, int filter)
{
    struct cudaTextureDesc texture;
    memset(&texture, 0, sizeof texture);
    texture.addressMode[0] = texture.addressMode[1] = texture.addressMode[2] = mode;
    texture.filterMode = filter;
    return texture;
}
static void *device(size_t bytes)
{
    void *address;
    DO(cudaMalloc(&address, bytes));
    return address;
}
static void back(void *to, const void *from, size_t bytes)
{
    DO(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}

enum { W = 9, H = 5, D = 3 };

/* A plane with a linear filter: halfway between texels, and the edge repeated or a colour outside. */
static void plane(void)
{
    float in[H][W + 2], out[H][W], *d = device(sizeof out), half = 0.5f, none = 0;
    int width = W;
    Format format = reals(1), found;
    struct cudaExtent size;
    unsigned flags;
    cudaArray_t array, second;
    Object texture;
    for (int i = 0; i < H * (W + 2); i++)
        ((float *)in)[i] = i % 7 + 0.25f * i;
    DO(cudaMallocArray(&array, &format, W, H, 0));
    DO(cudaArrayGetInfo(&found, &size, &flags, array));
    MUST(found.x == 32 && !found.y && found.f == cudaChannelFormatKindFloat && !flags);
    MUST(size.width == W && size.height == H && size.depth == 0);
    DO(cudaMemcpy2DToArray(array, 0, 0, in, sizeof in[0], W * 4, H, cudaMemcpyHostToDevice));
    struct cudaResourceDesc resource = of(array);
    struct cudaTextureDesc texels = reading(clamp, linear);
    DO(cudaCreateTextureObject(&texture, &resource, &texels, NULL));
    LAUNCH(sample_plane, extent(H, 1), extent(W, 1), &texture, &d, &width, &half, &none);
    back(out, d, sizeof out);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            MUST(out[y][x] == (in[y][x] + in[y][x < W - 1 ? x + 1 : x]) / 2);
    DO(cudaDestroyTextureObject(texture));
    MUST(cudaDestroyTextureObject(texture) == cudaErrorInvalidValue);

    /* The upper left part goes to another array; the rest of that one is zero. */
    DO(cudaMallocArray(&second, &format, W, H, 0));
    DO(cudaMemcpy2DArrayToArray(second, 0, 0, array, 8, 1, (W - 2) * 4, H - 1, cudaMemcpyDeviceToDevice));
    resource = of(second);
    texels = reading(border, nearest);
    texels.borderColor[0] = -1;
    DO(cudaCreateTextureObject(&texture, &resource, &texels, NULL));
    float up = -1;
    LAUNCH(sample_plane, extent(H, 1), extent(W, 1), &texture, &d, &width, &none, &up);
    back(out, d, sizeof out);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            MUST(out[y][x] == (y == 0 ? -1 : x < W - 2 ? in[y][x + 2] : 0));
    float row[W], run[W + 2];
    DO(cudaMemcpy2DFromArray(row, 4, second, 4, 2, 4, 1, cudaMemcpyDeviceToHost));
    MUST(row[0] == in[3][3]);
    /* Bytes that go on in the next row. */
    DO(cudaMemcpyToArray(second, 8, 1, in, (W + 2) * 4, cudaMemcpyHostToDevice));
    DO(cudaMemcpyFromArray(run, second, 8, 1, (W + 2) * 4, cudaMemcpyDeviceToHost));
    MUST(!memcmp(run, in, sizeof run));
    DO(cudaMemcpy2DFromArray(run, 4, second, 0, 2, 4, 1, cudaMemcpyDeviceToHost));
    MUST(run[0] == in[0][W - 2]);
    MUST(cudaMemcpy2DToArray(second, 4, 0, in, sizeof in[0], W * 4, H, 1) == cudaErrorInvalidValue);
    MUST(cudaMemcpy2DToArray(second, 0, 1, in, sizeof in[0], W * 4, H, 1) == cudaErrorInvalidValue);
    DO(cudaFreeArray(array));
    DO(cudaFreeArray(NULL));
    MUST(cudaFreeArray(array) == 400);
    MUST(cudaCreateSurfaceObject(&texture, &resource) == cudaErrorInvalidValue);
    MUST(cudaMallocArray(&array, &format, 0, 3, 0) == cudaErrorInvalidValue);
    cudaGetLastError();
}

/* Layers of pairs, and a cube whose faces have a number each. */
static void layers(void)
{
    float in[D][H][W][2], out[D][H][W][2], *d = device(sizeof out);
    int width = W, height = H;
    Format format = reals(2), single = reals(1);
    struct cudaExtent all = {W, H, D}, faces = {2, 2, 6};
    cudaArray_t array;
    Object texture;
    for (int i = 0; i < D * H * W * 2; i++)
        ((float *)in)[i] = i * 0.5f;
    DO(cudaMalloc3DArray(&array, &format, all, layered));
    struct cudaMemcpy3DParms copy = {.srcPtr = {in, W * 8, W, H}, .dstArray = array, .extent = all, .kind = cudaMemcpyHostToDevice};
    DO(cudaMemcpy3D(&copy));
    struct cudaResourceDesc resource = of(array);
    struct cudaTextureDesc texels = reading(clamp, nearest);
    DO(cudaCreateTextureObject(&texture, &resource, &texels, NULL));
    LAUNCH(sample_layers, three(H, D, 1), extent(W, 1), &texture, &d, &width, &height);
    back(out, d, sizeof out);
    MUST(!memcmp(out, in, sizeof in));
    MUST(cudaMalloc3DArray(&array, &format, all, cube) == cudaErrorInvalidValue);

    /* A node that copies a part of the array shows the array, the place in elements, and the memory. */
    float some[2][2];
    struct cudaMemcpy3DParms of_part = {.srcArray = array, .srcPos = {1, 1, 1}, .dstPtr = {some, 16, 16, 1}, .extent = {2, 1, 1}, .kind = cudaMemcpyDeviceToHost};
    struct cudaMemcpy3DParms shown;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t ready;
    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &of_part));
    DO(cudaGraphMemcpyNodeGetParams(node, &shown));
    MUST(shown.srcArray == array && !shown.srcPtr.ptr && !shown.dstArray);
    MUST(shown.srcPos.x == 1 && shown.srcPos.y == 1 && shown.srcPos.z == 1);
    MUST(shown.dstPtr.ptr == some && shown.dstPtr.pitch == 16);
    MUST(shown.extent.width == 2 && shown.extent.height == 1 && shown.extent.depth == 1);
    DO(cudaGraphMemcpyNodeSetParams(node, &shown));
    DO(cudaGraphInstantiate(&ready, graph, 0, NULL, 0));
    DO(cudaGraphLaunch(ready, 0));
    DO(cudaDeviceSynchronize());
    MUST(!memcmp(some, (float *)in + ((1 * H + 1) * W + 1) * 2, sizeof some));

    float of_cube[6][2][2], found[6];
    for (int i = 0; i < 24; i++)
        ((float *)of_cube)[i] = 10 + i / 4;
    DO(cudaMalloc3DArray(&array, &single, faces, cube));
    struct cudaMemcpy3DParms to_cube = {.srcPtr = {of_cube, 8, 2, 2}, .dstArray = array, .extent = faces, .kind = cudaMemcpyHostToDevice};
    DO(cudaMemcpy3D(&to_cube));
    resource = of(array);
    texels = reading(clamp, linear);
    texels.normalizedCoords = 1;
    DO(cudaCreateTextureObject(&texture, &resource, &texels, NULL));
    LAUNCH(sample_cube, extent(1, 1), extent(6, 1), &texture, &d);
    back(found, d, sizeof found);
    for (int face = 0; face < 6; face++)
        MUST(found[face] == 10 + face);
}

/* A part of a volume, from rows with a pitch to the middle of an array and back. */
static void volume(void)
{
    short in[D][H][W], out[D][H][W], *d = device(sizeof out);
    int width = W, height = H;
    Format format = cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindSigned), found;
    struct cudaExtent all = {W, H, D}, bytes = {W * 2, H, D}, part = {W - 2, H - 1, D - 1};
    struct cudaPitchedPtr rows;
    cudaArray_t array;
    Object texture;
    for (int i = 0; i < D * H * W; i++)
        ((short *)in)[i] = i - 40;
    DO(cudaMalloc3D(&rows, bytes));
    MUST(rows.pitch >= W * 2 && rows.xsize == W * 2 && rows.ysize == H);
    DO(cudaMemset3D(rows, 0xff, bytes));
    struct cudaMemcpy3DParms up = {.srcPtr = {in, W * 2, W, H}, .dstPtr = rows, .extent = bytes, .kind = cudaMemcpyHostToDevice};
    DO(cudaMemcpy3D(&up));
    DO(cudaMalloc3DArray(&array, &format, all, 0));
    DO(cudaGetChannelDesc(&found, array));
    MUST(found.x == 16 && found.f == cudaChannelFormatKindSigned);
    /* Positions in memory count bytes, those in arrays elements. */
    struct cudaMemcpy3DParms into = {.srcPtr = rows, .srcPos = {4, 1, 1}, .dstArray = array, .dstPos = {1, 0, 1}, .extent = part, .kind = cudaMemcpyDeviceToDevice};
    DO(cudaMemcpy3D(&into));
    struct cudaResourceDesc resource = of(array);
    struct cudaTextureDesc texels = reading(clamp, nearest);
    DO(cudaCreateTextureObject(&texture, &resource, &texels, NULL));
    LAUNCH(sample_volume, three(H, D, 1), extent(W, 1), &texture, &d, &width, &height);
    back(out, d, sizeof out);
    for (int z = 0; z < D; z++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                int inside = x >= 1 && x < W - 1 && y < H - 1 && z >= 1;
                MUST(out[z][y][x] == (inside ? in[z][y + 1][x + 1] : 0));
            }
    struct cudaMemcpy3DParms down = {.srcArray = array, .dstPtr = {out, W * 2, W, H}, .extent = all, .kind = cudaMemcpyDeviceToHost};
    memset(out, 0x55, sizeof out);
    DO(cudaMemcpy3D(&down));
    MUST(out[D - 1][0][1] == in[D - 1][1][2] && out[0][0][0] == 0 && out[1][H - 1][4] == 0);
    into.dstPos.x = 3;
    MUST(cudaMemcpy3D(&into) == cudaErrorInvalidValue);
    into.srcArray = array;
    MUST(cudaMemcpy3D(&into) == cudaErrorInvalidValue);
    cudaGetLastError();
}

/* A number for each texel of each level; levels have 8 x 4, 4 x 2, 2 x 1 and 1 x 1. */
static float texel(int level, int x, int y)
{
    return 1000 * level + 16 * y + x;
}

/* Four levels, each filled as an array of its own. */
static cudaMipmappedArray_t pyramid_of(unsigned levels)
{
    Format format = reals(1), found;
    struct cudaExtent all = {8, 4, 0}, size;
    cudaMipmappedArray_t mipmap;
    cudaArray_t array;
    unsigned flags;
    DO(cudaMallocMipmappedArray(&mipmap, &format, all, levels, 0));
    for (int level = 0; level < 4; level++) {
        int width = 8 >> level, height = level > 1 ? 1 : 4 >> level;
        float in[4][8];
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                in[y][x] = texel(level, x, y);
        DO(cudaGetMipmappedArrayLevel(&array, mipmap, level));
        DO(cudaArrayGetInfo(&found, &size, &flags, array));
        MUST(found.x == 32 && size.width == width && size.height == height && size.depth == 0);
        DO(cudaMemcpy2DToArray(array, 0, 0, in, sizeof in[0], width * 4, height, cudaMemcpyHostToDevice));
    }
    return mipmap;
}

/* What a kernel finds at the middles of the largest level's texels: a share of the next level, at the
   same place. */
static void finds(const float *d, int level, float share)
{
    float out[4][8];
    back(out, d, sizeof out);
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 8; x++) {
            float value = texel(level, x >> level, level > 1 ? 0 : y >> level);
            float next = texel(level + 1, x >> (level + 1), level > 0 ? 0 : y >> 1);
            MUST(out[y][x] == (share > 0 ? (1 - share) * value + share * next : value));
        }
}

static void levels(void)
{
    float *d = device(8 * 4 * 4), none = 0, quarter = 0.25f, many = 9, apart = 2.8284271f;
    int width = 8, height = 4, numbers[2][4], doubled[2][4];
    struct cudaExtent all = {8, 4, 0};
    cudaArray_t array, again;
    Object texture;

    /* More levels than there are halves become as many as there are. */
    cudaMipmappedArray_t mipmap = pyramid_of(10), of_numbers;
    MUST(cudaGetMipmappedArrayLevel(&array, mipmap, 4) == cudaErrorInvalidValue);
    MUST(cudaGetMipmappedArrayLevel(&array, NULL, 0) == 400);
    DO(cudaGetMipmappedArrayLevel(&array, mipmap, 1));
    DO(cudaGetMipmappedArrayLevel(&again, mipmap, 1));
    MUST(array == again);
    struct cudaResourceDesc resource = {1, {0}, 0};
    resource.res.mipmap = mipmap;
    struct cudaTextureDesc texels = reading(clamp, nearest);
    MUST(cudaCreateTextureObject(&texture, &resource, &texels, NULL) == cudaErrorInvalidValue);
    texels.normalizedCoords = 1;
    /* A description of zeros allows level 0 alone. */
    DO(cudaCreateTextureObject(&texture, &resource, &texels, NULL));
    LAUNCH(sample_level, extent(4, 1), extent(8, 1), &texture, &d, &width, &height, &many);
    finds(d, 0, 0);
    texels.mipmapFilterMode = linear;
    texels.maxMipmapLevelClamp = 3;
    texels.maxAnisotropy = 16;
    DO(cudaCreateTextureObject(&texture, &resource, &texels, NULL));
    LAUNCH(sample_level, extent(4, 1), extent(8, 1), &texture, &d, &width, &height, &quarter);
    finds(d, 0, 0.25f);
    LAUNCH(sample_level, extent(4, 1), extent(8, 1), &texture, &d, &width, &height, &many);
    finds(d, 3, 0);
    /* Neighbours are two to the power of 1.5 texels apart. */
    LAUNCH(sample_gradient, extent(4, 1), extent(8, 1), &texture, &d, &width, &height, &apart);
    finds(d, 1, 0.5f);
    texels.mipmapLevelBias = 1.5f;
    texels.maxMipmapLevelClamp = 1.75f;
    DO(cudaCreateTextureObject(&texture, &resource, &texels, NULL));
    LAUNCH(sample_level, extent(4, 1), extent(8, 1), &texture, &d, &width, &height, &none);
    finds(d, 1, 0.5f);
    LAUNCH(sample_level, extent(4, 1), extent(8, 1), &texture, &d, &width, &height, &quarter);
    finds(d, 1, 0.75f);
    texels.mipmapFilterMode = nearest;
    texels.minMipmapLevelClamp = 2;
    MUST(cudaCreateTextureObject(&texture, &resource, &texels, NULL) == cudaErrorInvalidValue);
    texels.mipmapFilterMode = 7;
    MUST(cudaCreateTextureObject(&texture, &resource, &texels, NULL) == cudaErrorInvalidValue);

    /* A view's first level is its level 0. */
    struct cudaResourceViewDesc view = {0, 8, 4, 0, 1, 2, 0, 0, {0}};
    texels.mipmapFilterMode = nearest;
    texels.minMipmapLevelClamp = texels.mipmapLevelBias = 0;
    texels.maxMipmapLevelClamp = 5;
    DO(cudaCreateTextureObject(&texture, &resource, &texels, &view));
    LAUNCH(sample_level, extent(4, 1), extent(8, 1), &texture, &d, &width, &height, &none);
    finds(d, 1, 0);
    LAUNCH(sample_level, extent(4, 1), extent(8, 1), &texture, &d, &width, &height, &many);
    finds(d, 2, 0);
    view.lastMipmapLevel = 4;
    MUST(cudaCreateTextureObject(&texture, &resource, &texels, &view) == cudaErrorInvalidValue);
    MUST(cudaCreateSurfaceObject(&texture, &resource) == cudaErrorInvalidValue);

    /* A level is an array: for copies, for textures of its own, and for surfaces. */
    resource = of(array);
    texels = reading(clamp, nearest);
    texels.normalizedCoords = 1;
    DO(cudaCreateTextureObject(&texture, &resource, &texels, NULL));
    LAUNCH(sample_level, extent(4, 1), extent(8, 1), &texture, &d, &width, &height, &many);
    finds(d, 1, 0);
    Format format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned);
    for (int i = 0; i < 8; i++)
        ((int *)numbers)[i] = 5 * i - 9;
    DO(cudaMallocMipmappedArray(&of_numbers, &format, all, 2, surface));
    DO(cudaGetMipmappedArrayLevel(&array, of_numbers, 1));
    DO(cudaMemcpyToArray(array, 0, 0, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    resource = of(array);
    DO(cudaCreateSurfaceObject(&texture, &resource));
    LAUNCH(double_surface, extent(2, 1), extent(4, 1), &texture, &texture);
    DO(cudaMemcpyFromArray(doubled, array, 0, 0, sizeof doubled, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++)
        MUST(((int *)doubled)[i] == 2 * ((int *)numbers)[i]);
    MUST(cudaMemcpyFromArray(doubled, array, 4, 0, sizeof doubled, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);

    /* Levels are freed together. */
    MUST(cudaFreeArray(array) == cudaErrorInvalidValue);
    MUST(cudaMipmappedArrayGetMemoryRequirements(numbers, mipmap, 0) == cudaErrorInvalidValue);
    DO(cudaFreeMipmappedArray(of_numbers));
    DO(cudaFreeMipmappedArray(NULL));
    MUST(cudaFreeMipmappedArray(of_numbers) == 400);
    MUST(cudaArrayGetInfo(NULL, NULL, NULL, array) == 400);
    MUST(cudaGetMipmappedArrayLevel(&array, of_numbers, 0) == 400);
    DO(cudaFreeMipmappedArray(mipmap));
    cudaGetLastError();
}

static void surfaces(void)
{
    int in[H][W], out[H][W], numbers[D][H][W], width = W, height = H;
    Format format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned);
    struct cudaExtent all = {W, H, D};
    cudaArray_t from, to, stack;
    Object of_from, of_to;
    for (int i = 0; i < H * W; i++)
        ((int *)in)[i] = 3 * i - 50;
    DO(cudaMallocArray(&from, &format, W, H, surface));
    DO(cudaMallocArray(&to, &format, W, H, surface));
    DO(cudaMemcpyToArray(from, 0, 0, in, sizeof in, cudaMemcpyHostToDevice));
    struct cudaResourceDesc resource = of(from);
    DO(cudaCreateSurfaceObject(&of_from, &resource));
    resource = of(to);
    DO(cudaCreateSurfaceObject(&of_to, &resource));
    LAUNCH(double_surface, extent(H, 1), extent(W, 1), &of_from, &of_to);
    DO(cudaMemcpyFromArray(out, to, 0, 0, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < H * W; i++)
        MUST(((int *)out)[i] == 2 * ((int *)in)[i]);
    DO(cudaDestroySurfaceObject(of_from));
    MUST(cudaDestroySurfaceObject(of_from) == cudaErrorInvalidValue);

    DO(cudaMalloc3DArray(&stack, &format, all, layered | surface));
    resource = of(stack);
    DO(cudaCreateSurfaceObject(&of_to, &resource));
    LAUNCH(number_layers, three(H, D, 1), extent(W, 1), &of_to, &width, &height);
    struct cudaMemcpy3DParms down = {.srcArray = stack, .dstPtr = {numbers, W * 4, W, H}, .extent = all, .kind = cudaMemcpyDeviceToHost};
    DO(cudaMemcpy3D(&down));
    for (int i = 0; i < D * H * W; i++)
        MUST(((int *)numbers)[i] == i);
    cudaGetLastError();
}

#ifdef REFERENCES
struct textureReference {
    int normalized, filterMode, addressMode[3];
    Format channelDesc;
    int sRGB;
    unsigned maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, reserved[14];
};
struct surfaceReference { Format channelDesc; };
typedef const struct textureReference *Texture;

void __cudaRegisterTexture(void **, Texture, const void **, const char *, int, int, int);
void __cudaRegisterSurface(void **, const struct surfaceReference *, const void **, const char *, int, int);
cudaError_t cudaBindTexture(size_t *, Texture, const void *, const Format *, size_t);
cudaError_t cudaBindTexture2D(size_t *, Texture, const void *, const Format *, size_t, size_t, size_t);
cudaError_t cudaBindTextureToArray(Texture, cudaArray_t, const Format *);
cudaError_t cudaBindTextureToMipmappedArray(Texture, cudaMipmappedArray_t, const Format *);
cudaError_t cudaUnbindTexture(Texture);
cudaError_t cudaGetTextureReference(Texture *, const void *);
cudaError_t cudaBindSurfaceToArray(const struct surfaceReference *, cudaArray_t, const Format *);

/* texture<float, 1>, texture<unsigned char, 2, cudaReadModeNormalizedFloat>, surface<void, 2>. */
static struct textureReference values = {0, nearest, {clamp, clamp, clamp}};
static struct textureReference picture = {0, linear, {clamp, clamp, clamp}};
static struct surfaceReference canvas;
/* texture<float, 2> of several levels. */
static struct textureReference pyramid = {1, nearest, {clamp, clamp, clamp}};

static void register_references(void)
{
    __cudaRegisterTexture(fatbin, &values, 0, "values", 1, 0, 0);
    __cudaRegisterTexture(fatbin, &picture, 0, "picture", 2, 1, 0);
    __cudaRegisterTexture(fatbin, &pyramid, 0, "pyramid", 2, 0, 0);
    __cudaRegisterSurface(fatbin, &canvas, 0, "canvas", 2, 0);
}

/* What a structure of CUDA 11 does not have is not written. */
static void attributes(void)
{
    struct { size_t bytes[3]; int facts[7], guard[5]; } place;
    memset(&place, 0x5a, sizeof place);
    DO(cudaFuncGetAttributes((struct cudaFuncAttributes *)&place, KERNEL(gather)));
    MUST(place.bytes[0] == 0 && place.facts[0] == 1024 && place.facts[6] == -1);
    for (int i = 1; i < 5; i++)
        MUST(place.guard[i] == 0x5a5a5a5a);
}

static void references(void)
{
    enum { n = 100, all = 200 };
    float in[all], out[n];
    int index[n], count = n;
    Format format = reals(1);
    size_t offset = 1;
    Texture found;
    for (int i = 0; i < all; i++)
        in[i] = i * 1.5f;
    for (int i = 0; i < n; i++)
        index[i] = (i * 37) % n;
    index[7] = n, index[8] = -1;
    float *d = device(sizeof in), *o = device(sizeof out);
    int *i = device(sizeof index);
    DO(cudaMemcpy(d, in, sizeof in, cudaMemcpyHostToDevice));
    DO(cudaMemcpy(i, index, sizeof index, cudaMemcpyHostToDevice));
    DO(cudaBindTexture(&offset, &values, d, &format, n * 4));
    MUST(offset == 0);
    LAUNCH(gather, extent(1, 1), extent(128, 1), &i, &o, &count);
    back(out, o, sizeof out);
    for (int k = 0; k < n; k++)
        MUST(out[k] == (index[k] < 0 || index[k] >= n ? 0 : in[index[k]]));
    /* Another part of the buffer, as long as the call says when it is not told. */
    DO(cudaBindTexture(NULL, &values, d + 64, &format, 0xffffffff));
    LAUNCH(gather, extent(1, 1), extent(128, 1), &i, &o, &count);
    back(out, o, sizeof out);
    for (int k = 0; k < n; k++)
        MUST(out[k] == (index[k] < 0 ? 0 : in[index[k] + 64]));
    DO(cudaGetTextureReference(&found, &values));
    MUST(found == &values);
    MUST(cudaBindTexture(NULL, (Texture)&canvas + 1, d, &format, 4) == 18);

    /* Levels, as the structure says at the time of binding. */
    float detail = 0.5f, *of_levels = device(8 * 4 * 4);
    int eight = 8, four = 4;
    cudaMipmappedArray_t mipmap = pyramid_of(4);
    pyramid.mipmapFilterMode = linear;
    pyramid.mipmapLevelBias = 0.25f;
    pyramid.maxMipmapLevelClamp = 2;
    DO(cudaBindTextureToMipmappedArray(&pyramid, mipmap, &format));
    LAUNCH(sample_pyramid, extent(4, 1), extent(8, 1), &of_levels, &eight, &four, &detail);
    finds(of_levels, 0, 0.75f);

    /* Fractions of 255, halfway between columns, from rows and from an array. */
    unsigned char shades[H][W];
    float painted[H][W], half = 0.5f, none = 0;
    int width = W, height = H;
    Format bytes = cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
    cudaArray_t array, result;
    void *rows;
    size_t pitch;
    for (int k = 0; k < H * W; k++)
        ((unsigned char *)shades)[k] = k * 5;
    DO(cudaMallocPitch(&rows, &pitch, W, H));
    DO(cudaMemcpy2D(rows, pitch, shades, W, W, H, cudaMemcpyHostToDevice));
    DO(cudaMallocArray(&array, &bytes, W, H, 0));
    DO(cudaMemcpyToArray(array, 0, 0, shades, sizeof shades, cudaMemcpyHostToDevice));
    DO(cudaMallocArray(&result, &format, W, H, surface));
    DO(cudaBindSurfaceToArray(&canvas, result, &format));
    for (int round = 0; round < 2; round++) {
        if (round)
            DO(cudaBindTextureToArray(&picture, array, &bytes));
        else
            DO(cudaBindTexture2D(NULL, &picture, rows, &bytes, W, H, pitch));
        LAUNCH(paint, extent(1, H), extent(32, 1), &width, &height, &half, &none);
        DO(cudaMemcpyFromArray(painted, result, 0, 0, sizeof painted, cudaMemcpyDeviceToHost));
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                float sum = shades[y][x] + shades[y][x < W - 1 ? x + 1 : x];
                MUST(fabsf(painted[y][x] - sum / 510) < 1e-6f);
            }
        DO(cudaMemcpy2DToArray(result, 0, 0, in, W * 4, W * 4, H, cudaMemcpyHostToDevice));
    }
    MUST(cudaBindTextureToArray(&picture, array, &format) == cudaErrorInvalidValue);
    cudaGetLastError();
    DO(cudaUnbindTexture(&picture));
    LAUNCH(paint, extent(1, H), extent(32, 1), &width, &height, &half, &none);
    MUST(cudaDeviceSynchronize() == 719);
    cudaGetLastError();
}
#endif

int main(void)
{
    int version = 0;
    DO(cudaRuntimeGetVersion(&version));
    plane();
    layers();
    volume();
    levels();
    surfaces();
    MUST(cudaGetLastError() == cudaSuccess);
#ifdef REFERENCES
    attributes();
    /* Ends with a fault, which lasts. */
    references();
#endif
    printf("right with %d\n", version / 1000);
    return 0;
}
