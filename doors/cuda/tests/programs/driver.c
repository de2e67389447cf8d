/* A client of the driver's interface: finds functions as clients do, links PTX, and launches with
   packed parameters. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef void *Handle;

CUresult cuInit(unsigned);
CUresult cuDriverGetVersion(int *);
CUresult cuDeviceGetCount(int *);
CUresult cuDeviceGetAttribute(int *, int, int);
CUresult cuMemAlloc_v2(uint64_t *, size_t);
CUresult cuMemAllocManaged(uint64_t *, size_t, unsigned);
CUresult cuMemHostAlloc(Handle *, size_t, unsigned);
CUresult cuStreamCreate(Handle *, unsigned);
CUresult cuEventCreate(Handle *, unsigned);
CUresult cuLaunchHostFunc(Handle, void (*)(void *), void *);
CUresult cuModuleLoad(Handle *, const char *);
CUresult cuFuncSetAttribute(Handle, int, int);
CUresult cuFuncSetCacheConfig(Handle, int);
CUresult cuCtxGetLimit(size_t *, int);
CUresult cuCtxSetLimit(int, size_t);
CUresult cuDeviceGet(int *, int);
CUresult cuCtxGetDevice(int *);
CUresult cuDevicePrimaryCtxRetain(Handle *, int);
CUresult cuCtxSetCurrent(Handle);
CUresult cuCtxSynchronize(void);
CUresult cuGetProcAddress_v2(const char *, void **, int, uint64_t, int *);
CUresult cuMemcpyHtoD_v2(uint64_t, const void *, size_t);
CUresult cuMemcpyDtoH_v2(void *, uint64_t, size_t);
CUresult cuMemsetD32_v2(uint64_t, unsigned, size_t);
CUresult cuMemFree_v2(uint64_t);
CUresult cuMemGetAddressRange_v2(uint64_t *, size_t *, uint64_t);
CUresult cuLinkCreate_v2(unsigned, void *, void *, Handle *);
CUresult cuLinkAddData_v2(Handle, int, const void *, size_t, const char *, unsigned, void *, void *);
CUresult cuLinkComplete(Handle, void **, size_t *);
CUresult cuLinkDestroy(Handle);
CUresult cuModuleLoadData(Handle *, const void *);
CUresult cuModuleGetFunction(Handle *, Handle, const char *);
CUresult cuModuleGetGlobal_v2(uint64_t *, size_t *, Handle, const char *);
CUresult cuModuleUnload(Handle);
CUresult cuFuncGetAttribute(int *, int, Handle);
CUresult cuStreamBeginCapture_v2(Handle, int);
CUresult cuStreamBeginCaptureToGraph(Handle, Handle, const Handle *, const void *, size_t, int);
CUresult cuStreamEndCapture(Handle, Handle *);
CUresult cuMemsetD32Async(uint64_t, unsigned, size_t, Handle);
CUresult cuStreamSynchronize(Handle);
CUresult cuGraphCreate(Handle *, unsigned);
CUresult cuGraphDestroy(Handle);
CUresult cuGraphAddNode(Handle *, Handle, const Handle *, size_t, const void *);
CUresult cuGraphConditionalHandleCreate(uint64_t *, Handle, Handle, unsigned, unsigned);
CUresult cuGraphAddNode_v2(Handle *, Handle, const Handle *, const void *, size_t, const void *);
CUresult cuGraphKernelNodeGetParams_v2(Handle, void *);
CUresult cuGraphMemcpyNodeGetParams(Handle, void *);
CUresult cuGraphMemAllocNodeGetParams(Handle, void *);
CUresult cuGraphMemFreeNodeGetParams(Handle, void *);
CUresult cuGraphChildGraphNodeGetGraph(Handle, Handle *);
CUresult cuGraphAddMemcpyNode(Handle *, Handle, const Handle *, size_t, const void *, Handle);
CUresult cuGraphAddChildGraphNode(Handle *, Handle, const Handle *, size_t, Handle);
CUresult cuGraphAddMemAllocNode(Handle *, Handle, const Handle *, size_t, void *);
CUresult cuGraphAddMemFreeNode(Handle *, Handle, const Handle *, size_t, uint64_t);
CUresult cuGraphAddKernelNode(Handle *, Handle, const Handle *, size_t, const void *);
CUresult cuGraphAddMemsetNode(Handle *, Handle, const Handle *, size_t, const void *, Handle);
CUresult cuGraphInstantiateWithFlags(Handle *, Handle, unsigned long long);
CUresult cuGraphLaunch(Handle, Handle);
CUresult cuGraphExecDestroy(Handle);
CUresult cuLaunchKernel(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void **, void **);
CUresult cuArrayCreate_v2(Handle *, const void *);
CUresult cuArray3DCreate_v2(Handle *, const void *);
CUresult cuArray3DGetDescriptor_v2(void *, Handle);
CUresult cuArrayDestroy(Handle);
CUresult cuMipmappedArrayCreate(Handle *, const void *, unsigned);
CUresult cuMipmappedArrayGetLevel(Handle *, Handle, unsigned);
CUresult cuMipmappedArrayDestroy(Handle);
CUresult cuMemcpy2D_v2(const void *);
CUresult cuMemcpy3D_v2(const void *);
CUresult cuMemcpyHtoA_v2(Handle, size_t, const void *, size_t);
CUresult cuMemcpyAtoH_v2(void *, Handle, size_t, size_t);
CUresult cuTexObjectCreate(uint64_t *, const void *, const void *, const void *);
CUresult cuTexObjectDestroy(uint64_t);
CUresult cuSurfObjectCreate(uint64_t *, const void *);
CUresult cuModuleGetTexRef(Handle *, Handle, const char *);
CUresult cuModuleGetSurfRef(Handle *, Handle, const char *);
CUresult cuTexRefSetAddress_v2(size_t *, Handle, uint64_t, size_t);
CUresult cuTexRefSetFormat(Handle, int, int);
CUresult cuTexRefSetFlags(Handle, unsigned);
CUresult cuTexRefSetFilterMode(Handle, int);
CUresult cuTexRefSetAddressMode(Handle, int, int);
CUresult cuTexRefSetArray(Handle, Handle, unsigned);
CUresult cuTexRefSetMipmappedArray(Handle, Handle, unsigned);
CUresult cuTexRefSetMipmapFilterMode(Handle, int);
CUresult cuTexRefSetMipmapLevelBias(Handle, float);
CUresult cuTexRefSetMipmapLevelClamp(Handle, float, float);
CUresult cuTexRefSetMaxAnisotropy(Handle, unsigned);
CUresult cuSurfRefSetArray(Handle, Handle, unsigned);
CUresult cuGetErrorName(CUresult, const char **);
CUresult cuGetExportTable(const void **, const void *);
CUresult cuTensorMapEncodeTiled(void *, int, unsigned, uint64_t, const uint64_t *, const uint64_t *, const unsigned *, const unsigned *, int, int, int, int);
CUresult cuTensorMapEncodeIm2col(void *, int, unsigned, uint64_t, const uint64_t *, const uint64_t *, const int *, const int *, unsigned, unsigned, const unsigned *, int, int, int, int);
CUresult cuTensorMapEncodeIm2colWide(void *, int, unsigned, uint64_t, const uint64_t *, const uint64_t *, int, int, unsigned, unsigned, const unsigned *, int, int, int, int, int);
CUresult cuTensorMapReplaceAddress(void *, uint64_t);

#define MUST(condition)                                          \
    do {                                                         \
        if (!(condition)) {                                      \
            printf("%d: not so: %s\n", __LINE__, #condition);    \
            exit(1);                                             \
        }                                                        \
    } while (0)
#define DO(call) MUST((call) == 0)
enum { INVALID_VALUE = 1, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_FOUND = 500 };

static char text[1 << 16];
static size_t read_text(const char *variable)
{
    FILE *file = fopen(getenv(variable), "rb");
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[bytes] = 0;
    return bytes;
}

typedef struct { _Alignas(64) uint64_t words[16]; } TensorMap;

/* A box of 2 x 4 from row 1, column 2 of a matrix of 4 x 8. */
static void tensor_maps(CUresult (*allocate)(uint64_t *, size_t))
{
    enum { FLOAT32 = 7, SWIZZLE_32B = 1, NOT_SUPPORTED = 801 };
    float matrix[32], box[8];
    uint64_t from, to, sizes[2] = {8, 4}, small[2] = {4, 2}, row = 32, small_row = 16;
    unsigned box_sizes[2] = {4, 2}, large[2] = {257, 2}, steps[2] = {1, 1};
    TensorMap of_matrix, of_box;
    Handle module, function;

    for (int i = 0; i < 32; i++)
        matrix[i] = i;
    DO(allocate(&from, sizeof matrix));
    DO(allocate(&to, sizeof box));
    DO(cuMemcpyHtoD_v2(from, matrix, sizeof matrix));
    DO(cuTensorMapEncodeTiled(&of_matrix, FLOAT32, 2, from, sizes, &row, box_sizes, steps, 0, SWIZZLE_32B, 2, 0));
    /* The address comes later. */
    DO(cuTensorMapEncodeTiled(&of_box, FLOAT32, 2, from, small, &small_row, box_sizes, steps, 0, SWIZZLE_32B, 0, 0));
    DO(cuTensorMapReplaceAddress(&of_box, to));
    read_text("TEST_TENSOR_PTX");
    DO(cuModuleLoadData(&module, text));
    DO(cuModuleGetFunction(&function, module, "copy_box"));
    void *arguments[] = {&of_matrix, &of_box};
    DO(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    DO(cuMemcpyDtoH_v2(box, to, sizeof box));
    for (int i = 0; i < 8; i++)
        MUST(box[i] == (1 + i / 4) * 8 + 2 + i % 4);

    MUST(cuTensorMapEncodeTiled(&of_box, FLOAT32, 2, to, small, &small_row, large, steps, 0, 0, 0, 0) == INVALID_VALUE);
    MUST(cuTensorMapEncodeTiled(&of_box, FLOAT32, 2, to + 4, small, &small_row, box_sizes, steps, 0, 0, 0, 0) == INVALID_VALUE);
    MUST(cuTensorMapEncodeTiled(&of_box, FLOAT32, 6, to, small, &small_row, box_sizes, steps, 0, 0, 0, 0) == INVALID_VALUE);
    MUST(cuTensorMapEncodeTiled(&of_box, 99, 2, to, small, &small_row, box_sizes, steps, 0, 0, 0, 0) == INVALID_VALUE);
    MUST(cuTensorMapEncodeTiled(&of_box, 13, 2, to, small, &small_row, box_sizes, steps, 0, 0, 0, 0) == NOT_SUPPORTED);
    MUST(cuTensorMapReplaceAddress(&of_box, to + 8) == INVALID_VALUE);
    uint64_t image[4] = {16, 8, 8, 2}, strides[3] = {32, 256, 2048};
    int lower[2] = {0, 0}, upper[2] = {0, 0};
    unsigned one_step[4] = {1, 1, 1, 1};
    DO(cuTensorMapEncodeIm2col(&of_box, 6, 4, from, image, strides, lower, upper, 16, 64, one_step, 0, 1, 0, 0));
    MUST(cuTensorMapEncodeIm2col(&of_box, 6, 2, from, image, strides, lower, upper, 16, 64, one_step, 0, 1, 0, 0) == INVALID_VALUE);

    /* Along the width: the mode with 128 pixels ignores their number, and a swizzle of 32 bytes is too narrow. */
    enum { SWIZZLE_64B = 2, W = 0, W128 = 1 };
    DO(cuTensorMapEncodeIm2colWide(&of_box, 6, 4, from, image, strides, -1, 0, 16, 64, one_step, 0, W, SWIZZLE_64B, 0, 0));
    DO(cuTensorMapEncodeIm2colWide(&of_box, 6, 4, from, image, strides, -1, 0, 16, 9999, one_step, 0, W128, SWIZZLE_64B, 0, 0));
    MUST(cuTensorMapEncodeIm2colWide(&of_box, 6, 4, from, image, strides, -1, 0, 16, 9999, one_step, 0, W, SWIZZLE_64B, 0, 0) == INVALID_VALUE);
    MUST(cuTensorMapEncodeIm2colWide(&of_box, 6, 4, from, image, strides, -1, 0, 16, 64, one_step, 0, 2, SWIZZLE_64B, 0, 0) == INVALID_VALUE);
    MUST(cuTensorMapEncodeIm2colWide(&of_box, 6, 4, from, image, strides, -32769, 0, 16, 64, one_step, 0, W, SWIZZLE_64B, 0, 0) == INVALID_VALUE);
    MUST(cuTensorMapEncodeIm2colWide(&of_box, 6, 4, from, image, strides, 8, 0, 16, 64, one_step, 0, W, SWIZZLE_64B, 0, 0) == INVALID_VALUE);
    MUST(cuTensorMapEncodeIm2colWide(&of_box, 6, 4, from, image, strides, -1, 0, 16, 64, one_step, 0, W, SWIZZLE_32B, 0, 0) == INVALID_VALUE);
    MUST(cuTensorMapEncodeIm2colWide(&of_box, 6, 4, from, image, strides, -1, 0, 16, 64, one_step, 1, W, SWIZZLE_64B, 0, 0) == NOT_SUPPORTED);
}

/* CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR, CUDA_MEMCPY2D, CUDA_MEMCPY3D and so on. */
typedef struct { size_t width, height; int format; unsigned channels; } Shape;
typedef struct { size_t width, height, depth; int format; unsigned channels, flags; } Shape3d;
typedef struct { size_t x, y; int kind; const void *host; uint64_t device; Handle array; size_t pitch; } End;
typedef struct { End from, to; size_t width, height; } Copy;
typedef struct {
    size_t x, y, z, level;
    int kind;
    const void *host;
    uint64_t device;
    Handle array;
    void *reserved;
    size_t pitch, height;
} End3d;
typedef struct { End3d from, to; size_t width, height, depth; } Copy3d;
typedef struct { int kind; union { Handle array; int reserved[32]; } of; unsigned flags; } Resource;
typedef struct {
    int address[3], filter;
    unsigned flags, anisotropy;
    int level_filter;
    float level[3], border[4];
    int reserved[12];
} Reading;

/* Two levels of whole numbers, through an object and through a reference. */
static void levels(Handle module, uint64_t d)
{
    enum { W = 4, H = 2, FLOAT = 0x20, ON_HOST = 1, IN_ARRAY = 3, NORMALIZED = 2, LINEAR = 1 };
    float in[2][H][W] = {{{1, 2, 3, 4}, {5, 6, 7, 8}}, {{10, 20}}}, out[H][W], detail = 0.5f;
    int width = W, height = H;
    Shape3d shape = {W, H, 0, FLOAT, 1, 0}, found;
    Handle mipmap, array, reference, function;
    uint64_t texture;

    MUST(cuMipmappedArrayCreate(NULL, &shape, 2) == INVALID_VALUE);
    DO(cuMipmappedArrayCreate(&mipmap, &shape, 2));
    MUST(cuMipmappedArrayGetLevel(&array, mipmap, 2) == INVALID_VALUE);
    for (int level = 0; level < 2; level++) {
        DO(cuMipmappedArrayGetLevel(&array, mipmap, level));
        DO(cuArray3DGetDescriptor_v2(&found, array));
        MUST(found.width == W >> level && found.height == H >> level && found.depth == 0);
        Copy into = {{0, 0, ON_HOST, in[level], 0, NULL, W * 4}, {0, 0, IN_ARRAY, NULL, 0, array, 0}, found.width * 4, found.height};
        DO(cuMemcpy2D_v2(&into));
    }
    Resource resource = {1, {mipmap}, 0};
    Reading reading = {{1, 1, 1}, 0, NORMALIZED, 0, LINEAR, {0, 0, 1}, {0}, {0}};
    DO(cuTexObjectCreate(&texture, &resource, &reading, NULL));
    DO(cuModuleGetTexRef(&reference, module, "pyramid"));
    /* The order does not matter: what a reference stands for is made at the next launch. */
    DO(cuTexRefSetMipmappedArray(reference, mipmap, 1));
    DO(cuTexRefSetFlags(reference, NORMALIZED));
    MUST(cuTexRefSetMipmapFilterMode(reference, 7) == INVALID_VALUE);
    DO(cuTexRefSetMipmapFilterMode(reference, LINEAR));
    DO(cuTexRefSetMipmapLevelBias(reference, -8));
    DO(cuTexRefSetMipmapLevelClamp(reference, 0.5f, 1));
    DO(cuTexRefSetMaxAnisotropy(reference, 4));
    void *object[] = {&texture, &d, &width, &height, &detail}, *bound[] = {&d, &width, &height, &detail};
    for (int round = 0; round < 2; round++) {
        DO(cuModuleGetFunction(&function, module, round ? "sample_pyramid" : "sample_level"));
        DO(cuLaunchKernel(function, H, 1, 1, W, 1, 1, 0, NULL, round ? bound : object, NULL));
        DO(cuMemcpyDtoH_v2(out, d, sizeof out));
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                MUST(out[y][x] == (in[0][y][x] + in[1][0][x / 2]) / 2);
    }
    reading.flags = 0;
    MUST(cuTexObjectCreate(&texture, &resource, &reading, NULL) == INVALID_VALUE);
    DO(cuMipmappedArrayDestroy(mipmap));
    MUST(cuMipmappedArrayDestroy(mipmap) == INVALID_HANDLE);
    MUST(cuMipmappedArrayGetLevel(&array, mipmap, 0) == INVALID_HANDLE);
}

/* Arrays, objects on them, and references by the names of `textures.cu`. */
static void textures(CUresult (*allocate)(uint64_t *, size_t))
{
    enum { W = 6, H = 4, D = 2, FLOAT = 0x20, UNSIGNED_INT8 = 1, ON_HOST = 1, ON_DEVICE, IN_ARRAY };
    enum { AS_INTEGER = 1, LINEAR = 1, BORDER = 3, LAYERED_SURFACE = 3 };
    float in[H][W], out[H][W], none = 0, half = 0.5f;
    int width = W, height = H, numbers[D][H][W];
    Handle module, function, array, stack, reference, canvas;
    uint64_t rows, texture, surface, d;
    Shape shape = {W, H, FLOAT, 1};
    Shape3d layers = {W, H, D, 0x0a, 1, LAYERED_SURFACE}, found;

    for (int i = 0; i < W * H; i++)
        ((float *)in)[i] = i * 0.75f;
    read_text("TEST_TEXTURE_PTX");
    DO(cuModuleLoadData(&module, text));
    DO(allocate(&rows, 256 * H));
    DO(allocate(&d, sizeof out));
    DO(cuArrayCreate_v2(&array, &shape));
    /* From the host to rows, and from the second column of these to the array. */
    Copy up = {{0, 0, ON_HOST, in, 0, NULL, W * 4}, {4, 0, ON_DEVICE, NULL, rows, NULL, 256}, W * 4, H};
    DO(cuMemcpy2D_v2(&up));
    Copy into = {{4, 0, ON_DEVICE, NULL, rows, NULL, 256}, {0, 0, IN_ARRAY, NULL, 0, array, 0}, W * 4, H};
    DO(cuMemcpy2D_v2(&into));
    Resource resource = {0, {array}, 0};
    Reading reading = {{BORDER, BORDER, BORDER}, LINEAR, 0, 0, 0, {0}, {8, 0, 0, 0}, {0}};
    DO(cuTexObjectCreate(&texture, &resource, &reading, NULL));
    DO(cuModuleGetFunction(&function, module, "sample_plane"));
    void *plane[] = {&texture, &d, &width, &half, &none};
    DO(cuLaunchKernel(function, H, 1, 1, W, 1, 1, 0, NULL, plane, NULL));
    DO(cuMemcpyDtoH_v2(out, d, sizeof out));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            MUST(out[y][x] == (in[y][x] + (x < W - 1 ? in[y][x + 1] : 8)) / 2);
    DO(cuTexObjectDestroy(texture));
    MUST(cuTexObjectDestroy(texture) == INVALID_VALUE);

    DO(cuArray3DCreate_v2(&stack, &layers));
    DO(cuArray3DGetDescriptor_v2(&found, stack));
    MUST(!memcmp(&found, &layers, sizeof layers - 4));
    resource.of.array = stack;
    DO(cuSurfObjectCreate(&surface, &resource));
    DO(cuModuleGetFunction(&function, module, "number_layers"));
    void *filled[] = {&surface, &width, &height};
    DO(cuLaunchKernel(function, H, D, 1, W, 1, 1, 0, NULL, filled, NULL));
    Copy3d down = {{4, 1, 1, 0, IN_ARRAY, NULL, 0, stack, NULL, 0, 0},
                   {0, 0, 0, 0, ON_HOST, numbers, 0, NULL, NULL, W * 4, H}, (W - 1) * 4, H - 1, 1};
    DO(cuMemcpy3D_v2(&down));
    for (int y = 0; y < H - 1; y++)
        for (int x = 0; x < W - 1; x++)
            MUST(numbers[0][y][x] == (H + y + 1) * W + x + 1);
    down.depth = 2;
    MUST(cuMemcpy3D_v2(&down) == INVALID_VALUE);

    levels(module, d);

    /* References: what was said last holds at the launch. */
    int index[3] = {2, 0, 5}, count = 3;
    uint64_t indices;
    size_t offset = 1;
    DO(allocate(&indices, sizeof index));
    DO(cuMemcpyHtoD_v2(indices, index, sizeof index));
    DO(cuModuleGetTexRef(&reference, module, "values"));
    MUST(cuModuleGetTexRef(&canvas, module, "no_such_texture") == NOT_FOUND);
    DO(cuTexRefSetAddress_v2(&offset, reference, rows + 4, W * 4));
    MUST(offset == 0);
    DO(cuTexRefSetFormat(reference, FLOAT, 1));
    DO(cuModuleGetFunction(&function, module, "gather"));
    void *gather[] = {&indices, &d, &count};
    DO(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, gather, NULL));
    DO(cuMemcpyDtoH_v2(out, d, 12));
    for (int i = 0; i < 3; i++)
        MUST(out[0][i] == in[0][index[i]]);
    MUST(cuTexRefSetAddressMode(reference, 3, 0) == INVALID_VALUE);
    MUST(cuTexRefSetFilterMode(reference, 7) == INVALID_VALUE);

    unsigned char shades[H][W];
    Handle picture;
    Shape bytes = {W, H, UNSIGNED_INT8, 1};
    Shape3d writable = {W, H, 0, FLOAT, 1, 2};
    for (int i = 0; i < W * H; i++)
        ((unsigned char *)shades)[i] = i * 10;
    DO(cuArrayDestroy(array));
    DO(cuArrayCreate_v2(&array, &bytes));
    DO(cuArray3DCreate_v2(&stack, &writable));
    DO(cuMemcpyHtoA_v2(array, 0, shades, W));
    bytes.height = 0;
    DO(cuArrayCreate_v2(&picture, &bytes));
    MUST(cuMemcpyHtoA_v2(picture, 1, shades, W) == INVALID_VALUE);
    DO(cuModuleGetTexRef(&picture, module, "picture"));
    DO(cuModuleGetSurfRef(&canvas, module, "canvas"));
    DO(cuTexRefSetArray(picture, array, 1));
    DO(cuTexRefSetFilterMode(picture, LINEAR));
    DO(cuTexRefSetAddressMode(picture, 0, 1));
    DO(cuSurfRefSetArray(canvas, stack, 0));
    DO(cuModuleGetFunction(&function, module, "paint"));
    void *paint[] = {&width, &height, &half, &none};
    DO(cuLaunchKernel(function, 1, H, 1, 32, 1, 1, 0, NULL, paint, NULL));
    DO(cuMemcpyAtoH_v2(out, stack, 0, W * 4));
    for (int x = 0; x < W; x++) {
        float expected = (shades[0][x] + shades[0][x < W - 1 ? x + 1 : x]) / 510.0f;
        MUST(out[0][x] > expected - 1e-6f && out[0][x] < expected + 1e-6f);
    }
    /* Whole numbers have no mean: the launch is refused. */
    DO(cuTexRefSetFlags(picture, AS_INTEGER));
    MUST(cuLaunchKernel(function, 1, H, 1, 32, 1, 1, 0, NULL, paint, NULL) == INVALID_VALUE);
    DO(cuTexRefSetFilterMode(picture, 0));
    DO(cuLaunchKernel(function, 1, H, 1, 32, 1, 1, 0, NULL, paint, NULL));
    DO(cuMemcpyAtoH_v2(numbers, stack, 0, W * 4));
    for (int x = 0; x < W; x++)
        MUST(numbers[0][0][x] == shades[0][x < W - 1 ? x + 1 : x]);
    DO(cuModuleUnload(module));
}

/* Nothing works before cuInit, but for what needs no driver. */
static void before_begin(void)
{
    enum { NOT_INITIALIZED = 3 };
    int number;
    uint64_t address;
    Handle handle;
    const char *name;
    MUST(cuDeviceGetCount(&number) == NOT_INITIALIZED);
    MUST(cuDeviceGet(&number, 0) == NOT_INITIALIZED);
    MUST(cuDeviceGetAttribute(&number, 16, 0) == NOT_INITIALIZED);
    MUST(cuMemAlloc_v2(&address, 16) == NOT_INITIALIZED);
    MUST(cuModuleLoadData(&handle, text) == NOT_INITIALIZED);
    MUST(cuStreamCreate(&handle, 0) == NOT_INITIALIZED);
    MUST(cuCtxSynchronize() == NOT_INITIALIZED);
    DO(cuDriverGetVersion(&number));
    DO(cuGetErrorName(NOT_INITIALIZED, &name));
    MUST(!strcmp(name, "CUDA_ERROR_NOT_INITIALIZED"));
    MUST(cuInit(1) == INVALID_VALUE);
}

/* What belongs to a context needs one. */
static void without_context(void)
{
    uint64_t address;
    Handle handle;
    MUST(cuMemAlloc_v2(&address, 16) == INVALID_CONTEXT);
    MUST(cuModuleLoadData(&handle, text) == INVALID_CONTEXT);
    MUST(cuStreamCreate(&handle, 0) == INVALID_CONTEXT);
    MUST(cuEventCreate(&handle, 0) == INVALID_CONTEXT);
    MUST(cuMemcpyHtoD_v2(0, text, 1) == INVALID_CONTEXT);
}

/* A kernel that writes to `to`, behind a fill, and a captured fill. */
static void launch_by_graph(Handle kernel, uint64_t to)
{
    struct { Handle function; unsigned extents[6], shared; void **parameters, **extra; } launch;
    struct { uint64_t to; size_t pitch; unsigned value, bytes; size_t width, height; } fill;
    Handle graph, node, ready, stream;
    int result = 0;
    void *arguments[] = {&to};
    memset(&launch, 0, sizeof launch);
    memset(&fill, 0, sizeof fill);
    launch.function = kernel;
    for (int i = 0; i < 6; i++)
        launch.extents[i] = 1;
    launch.parameters = arguments;
    fill.to = to;
    fill.value = 99;
    fill.bytes = 4;
    fill.width = fill.height = 1;
    /* Nodes of any kind, the second by the kernel's second name. */
    struct { int kind, reserved[3]; union { size_t words[29]; char bytes[80]; } of; size_t end; } any;
    struct { Handle function; unsigned extents[6], shared; void **parameters, **extra; Handle kernel, context; } shown;
    DO(cuGraphCreate(&graph, 0));
    memset(&any, 0, sizeof any);
    any.kind = 2;
    memcpy(any.of.bytes, &fill, sizeof fill);
    DO(cuGraphAddNode(&node, graph, NULL, 0, &any));
    memset(&any, 0, sizeof any);
    memcpy(any.of.bytes, &launch, sizeof launch);
    memset(any.of.bytes, 0, sizeof kernel);
    memcpy(any.of.bytes + sizeof launch, &kernel, sizeof kernel);
    DO(cuGraphAddNode_v2(&node, graph, &node, NULL, 1, &any));
    DO(cuGraphKernelNodeGetParams_v2(node, &shown));
    MUST(shown.function == kernel && shown.extents[5] == 1 && !shown.kernel);
    MUST(*(uint64_t *)shown.parameters[0] == to);
    DO(cuGraphInstantiateWithFlags(&ready, graph, 0));
    DO(cuGraphDestroy(graph));
    DO(cuGraphLaunch(ready, NULL));
    DO(cuMemcpyDtoH_v2(&result, to, sizeof result));
    MUST(result == 2 * 4 + 5);
    DO(cuGraphExecDestroy(ready));
    DO(cuGraphCreate(&graph, 0));
    DO(cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, NULL));
    DO(cuGraphAddKernelNode(&node, graph, &node, 1, &launch));
    DO(cuGraphInstantiateWithFlags(&ready, graph, 0));
    DO(cuGraphDestroy(graph));
    DO(cuGraphLaunch(ready, NULL));
    DO(cuMemcpyDtoH_v2(&result, to, sizeof result));
    MUST(result == 2 * 4 + 5);
    DO(cuGraphExecDestroy(ready));
    MUST(cuGraphLaunch(ready, NULL) == INVALID_VALUE);
    /* What copies, memory and graphs in graphs are asked for is what they were made of. */
    struct side { size_t x, y, z, level; int kind; const void *host; uint64_t device; Handle array, reserved; size_t pitch, height; };
    struct { struct side from, to; size_t width, height, depth; } copy, seen;
    struct { uint64_t pool[11], access[2]; size_t bytes; uint64_t address; } memory, given;
    Handle child, shown_child;
    uint64_t freed = 0;
    memset(&copy, 0, sizeof copy);
    memset(&memory, 0, sizeof memory);
    memory.bytes = 256;
    copy.from.kind = 2;
    copy.to.kind = 1;
    copy.from.device = to;
    copy.to.host = &result;
    copy.width = sizeof result;
    copy.height = copy.depth = 1;
    DO(cuGraphCreate(&graph, 0));
    DO(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &memory));
    DO(cuGraphMemAllocNodeGetParams(node, &given));
    MUST(given.address == memory.address && given.address && given.bytes == 256);
    DO(cuGraphAddMemFreeNode(&node, graph, &node, 1, memory.address));
    DO(cuGraphMemFreeNodeGetParams(node, &freed));
    MUST(freed == memory.address);
    DO(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, NULL));
    DO(cuGraphMemcpyNodeGetParams(node, &seen));
    MUST(seen.from.device == to && seen.to.device == (uint64_t)&result && seen.from.kind == 4);
    MUST(seen.width == sizeof result && seen.height == 1 && seen.depth == 1 && !seen.from.array);
    MUST(cuGraphChildGraphNodeGetGraph(node, &child) == INVALID_VALUE);
    DO(cuGraphCreate(&child, 0));
    DO(cuGraphAddChildGraphNode(&node, child, NULL, 0, graph));
    DO(cuGraphChildGraphNodeGetGraph(node, &shown_child));
    MUST(shown_child != graph && cuGraphDestroy(shown_child) == INVALID_VALUE);
    result = 0;
    DO(cuGraphInstantiateWithFlags(&ready, child, 0));
    DO(cuGraphLaunch(ready, NULL));
    MUST(result != 0);
    DO(cuGraphDestroy(child));
    DO(cuGraphDestroy(graph));
    DO(cuStreamCreate(&stream, 1));
    DO(cuStreamBeginCapture_v2(stream, 0));
    DO(cuMemsetD32Async(to, 7, 1, stream));
    DO(cuStreamEndCapture(stream, &graph));
    DO(cuMemcpyDtoH_v2(&result, to, sizeof result));
    MUST(result == 2 * 4 + 5);
    DO(cuGraphInstantiateWithFlags(&ready, graph, 0));
    DO(cuGraphLaunch(ready, stream));
    DO(cuStreamSynchronize(stream));
    DO(cuMemcpyDtoH_v2(&result, to, sizeof result));
    MUST(result == 7);
}

/* A kernel of one unit with a function and a variable of another one. */
static void two_units(CUresult (*allocate)(uint64_t *, size_t))
{
    static const char *const head = ".version 7.5\n.target sm_75\n.address_size 64\n";
    static const char *const kernel =
        ".extern .func (.param .b32 result) twice(.param .b32 x);\n.extern .global .align 4 .u32 offset;\n"
        ".visible .entry both(.param .u64 to) { .reg .b64 %a; .reg .b32 %r<3>; .param .b32 given, back;\n"
        "ld.param.u64 %a, [to]; mov.u32 %r0, 4; st.param.b32 [given], %r0; call (back), twice, (given);\n"
        "ld.param.b32 %r1, [back]; ld.global.u32 %r2, [offset]; add.u32 %r1, %r1, %r2;\n"
        "st.global.u32 [%a], %r1; ret; }\n";
    static const char *const function_and_variable =
        ".visible .global .align 4 .u32 offset = 5;\n"
        ".visible .func (.param .b32 result) twice(.param .b32 x) { .reg .b32 %r;\n"
        "ld.param.b32 %r, [x]; add.u32 %r, %r, %r; st.param.b32 [result], %r; ret; }\n";
    const char *const units[] = {kernel, function_and_variable};
    char unit[2048];
    uint64_t to;
    unsigned result;
    size_t bytes;
    void *image;
    Handle link, module, both;
    DO(cuLinkCreate_v2(0, NULL, NULL, &link));
    for (int i = 0; i < 2; i++) {
        int length = snprintf(unit, sizeof unit, "%s%s", head, units[i]);
        DO(cuLinkAddData_v2(link, 1, unit, length + 1, "unit.ptx", 0, NULL, NULL));
    }
    DO(cuLinkComplete(link, &image, &bytes));
    DO(cuModuleLoadData(&module, image));
    DO(cuLinkDestroy(link));
    DO(cuModuleGetFunction(&both, module, "both"));
    DO(allocate(&to, sizeof result));
    void *arguments[] = {&to};
    DO(cuLaunchKernel(both, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    DO(cuMemcpyDtoH_v2(&result, to, sizeof result));
    MUST(result == 2 * 4 + 5);
    launch_by_graph(both, to);
    DO(cuModuleUnload(module));
}

/* NVRTC 12.9 makes this, with -rdc=true, of
     extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned value);
     extern "C" __global__ void countdown(unsigned long long handle, int *left, int *done)
     { ++*done; cudaGraphSetConditional(handle, --*left); } */
static const char countdown[] =
    ".version 8.8\n.target sm_75\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional (.param .b64 cudaGraphSetConditional_param_0,\n"
    "    .param .b32 cudaGraphSetConditional_param_1);\n"
    ".visible .entry countdown(.param .u64 countdown_param_0, .param .u64 countdown_param_1,\n"
    "    .param .u64 countdown_param_2)\n"
    "{ .reg .b32 %r<5>; .reg .b64 %rd<6>;\n"
    "ld.param.u64 %rd1, [countdown_param_0]; ld.param.u64 %rd2, [countdown_param_1];\n"
    "ld.param.u64 %rd3, [countdown_param_2]; cvta.to.global.u64 %rd4, %rd2;\n"
    "cvta.to.global.u64 %rd5, %rd3; ld.global.u32 %r1, [%rd5]; add.s32 %r2, %r1, 1;\n"
    "st.global.u32 [%rd5], %r2; ld.global.u32 %r3, [%rd4]; add.s32 %r4, %r3, -1;\n"
    "st.global.u32 [%rd4], %r4;\n"
    "{ .reg .b32 temp_param_reg; .param .b64 param0; st.param.b64 [param0+0], %rd1;\n"
    ".param .b32 param1; st.param.b32 [param1+0], %r4;\n"
    "call.uni cudaGraphSetConditional, (param0, param1); }\n"
    "ret; }\n";

enum { IF, WHILE, SWITCH };

/* Adds a node with a condition, and gives its bodies. */
static Handle *conditional(Handle graph, Handle after, uint64_t condition, int choice, unsigned size, Handle *node)
{
    struct { int kind, reserved[3]; uint64_t handle; int choice; unsigned size; Handle *bodies, context; uint64_t rest[27]; } any;
    memset(&any, 0, sizeof any);
    any.kind = 13;
    any.handle = condition;
    any.choice = choice;
    any.size = size;
    DO(cuGraphAddNode_v2(node, graph, &after, NULL, after ? 1 : 0, &any));
    return any.bodies;
}

/* Graphs whose kernels decide what is executed: a loop, a choice of two in it, and one of three. */
static void conditions(CUresult (*allocate)(uint64_t *, size_t))
{
    struct { Handle function; unsigned extents[6], shared; void **parameters, **extra; } launch;
    struct { uint64_t to; size_t pitch; unsigned value, bytes; size_t width, height; } fill;
    uint64_t loop, two, three, left, done, at;
    Handle module, kernel, graph, node, inner, ready, stream, other, same, *bodies;
    int numbers[3];
    DO(cuModuleLoadData(&module, countdown));
    DO(cuModuleGetFunction(&kernel, module, "countdown"));
    DO(allocate(&left, 4));
    DO(allocate(&done, 4));
    DO(allocate(&at, 4));
    DO(cuGraphCreate(&graph, 0));
    DO(cuGraphConditionalHandleCreate(&loop, graph, NULL, 1, 1));
    DO(cuGraphConditionalHandleCreate(&two, graph, NULL, 0, 1));
    DO(cuGraphConditionalHandleCreate(&three, graph, NULL, 2, 1));
    MUST(cuGraphConditionalHandleCreate(&at, graph, NULL, 0, 8) == INVALID_VALUE);
    /* while (loop) { countdown(loop); if (two) at = 1; else at = 2; } then at = 30 of 10, 20, 30 */
    bodies = conditional(graph, NULL, loop, WHILE, 1, &node);
    memset(&launch, 0, sizeof launch);
    memset(&fill, 0, sizeof fill);
    void *arguments[] = {&loop, &left, &done};
    launch.function = kernel;
    for (int i = 0; i < 6; i++)
        launch.extents[i] = 1;
    launch.parameters = arguments;
    DO(cuGraphAddKernelNode(&inner, bodies[0], NULL, 0, &launch));
    Handle *choices = conditional(bodies[0], inner, two, IF, 2, &inner);
    fill.to = at;
    fill.bytes = 4;
    fill.width = fill.height = 1;
    for (unsigned i = 0; i < 2; i++) {
        fill.value = i + 1;
        DO(cuGraphAddMemsetNode(&inner, choices[i], NULL, 0, &fill, NULL));
    }
    DO(cuGraphInstantiateWithFlags(&ready, graph, 0));
    for (int times = 1; times <= 2; times++) {
        DO(cuMemsetD32_v2(left, 5, 1));
        DO(cuMemsetD32_v2(done, 0, 1));
        DO(cuGraphLaunch(ready, NULL));
        DO(cuMemcpyDtoH_v2(&numbers[0], left, 4));
        DO(cuMemcpyDtoH_v2(&numbers[1], done, 4));
        DO(cuMemcpyDtoH_v2(&numbers[2], at, 4));
        MUST(numbers[0] == 0 && numbers[1] == 5 && numbers[2] == 2);
    }
    DO(cuGraphExecDestroy(ready));
    bodies = conditional(graph, node, three, SWITCH, 3, &node);
    for (unsigned i = 0; i < 2; i++) {
        fill.value = 10 * (i + 1);
        DO(cuGraphAddMemsetNode(&inner, bodies[i], NULL, 0, &fill, NULL));
    }
    /* A body can be what a stream does. So can what comes behind a node. */
    DO(cuStreamCreate(&stream, 1));
    DO(cuStreamCreate(&other, 1));
    MUST(cuStreamBeginCaptureToGraph(stream, bodies[2], &node, NULL, 1, 0) == INVALID_VALUE);
    DO(cuStreamBeginCaptureToGraph(stream, bodies[2], NULL, NULL, 0, 0));
    MUST(cuStreamBeginCaptureToGraph(other, bodies[2], NULL, NULL, 0, 0) == INVALID_VALUE);
    DO(cuMemsetD32Async(at, 30, 1, stream));
    DO(cuStreamEndCapture(stream, &same));
    MUST(same == bodies[2]);
    DO(cuStreamBeginCaptureToGraph(stream, graph, &node, NULL, 1, 0));
    DO(cuMemsetD32Async(left, 77, 1, stream));
    DO(cuStreamEndCapture(stream, &same));
    MUST(same == graph);
    DO(cuGraphInstantiateWithFlags(&ready, graph, 0));
    MUST(cuGraphDestroy(bodies[0]) == INVALID_VALUE);
    DO(cuMemsetD32_v2(left, 1, 1));
    DO(cuMemsetD32_v2(done, 0, 1));
    DO(cuGraphLaunch(ready, NULL));
    DO(cuMemcpyDtoH_v2(&numbers[0], left, 4));
    DO(cuMemcpyDtoH_v2(&numbers[1], done, 4));
    DO(cuMemcpyDtoH_v2(&numbers[2], at, 4));
    MUST(numbers[0] == 77 && numbers[1] == 1 && numbers[2] == 30);
    /* Graphs in graphs end somewhere. */
    int levels = 0;
    struct { int kind, reserved[3]; uint64_t handle; int choice; unsigned size; Handle *bodies, context; uint64_t rest[27]; } deep;
    memset(&deep, 0, sizeof deep);
    deep.kind = 13;
    deep.handle = two;
    deep.size = 1;
    for (inner = bodies[1]; levels < 1000 && !cuGraphAddNode_v2(&node, inner, NULL, NULL, 0, &deep); levels++)
        inner = deep.bodies[0];
    MUST(levels > 20 && levels < 100);
    DO(cuGraphDestroy(graph));
    DO(cuGraphExecDestroy(ready));
    DO(cuModuleUnload(module));
}

/* Numbers that no header has, null pointers, and files that never end. */
static void unknown_numbers(Handle function)
{
    enum { FILE_NOT_FOUND = 301, INVALID_IMAGE = 200, UNSUPPORTED_LIMIT = 215 };
    int number;
    size_t limit;
    uint64_t address;
    Handle handle;
    DO(cuDeviceGetAttribute(&number, 16, 0));
    MUST(number == 132);
    for (int i = 0; i < 3; i++)
        MUST(cuDeviceGetAttribute(&number, (int[]){0, -1, 9999}[i], 0) == INVALID_VALUE);
    MUST(cuFuncGetAttribute(&number, 99, function) == INVALID_VALUE);
    MUST(cuFuncSetAttribute(function, 0, 1) == INVALID_VALUE);
    MUST(cuFuncSetAttribute(function, 99, 1) == INVALID_VALUE);
    MUST(cuFuncSetCacheConfig(function, 4) == INVALID_VALUE);
    DO(cuFuncSetCacheConfig(function, 1));
    MUST(cuCtxGetLimit(&limit, 77) == INVALID_VALUE);
    MUST(cuCtxSetLimit(77, 1) == INVALID_VALUE);
    MUST(cuCtxGetLimit(&limit, 5) == UNSUPPORTED_LIMIT);
    DO(cuCtxGetLimit(&limit, 0));
    MUST(cuStreamCreate(&handle, 2) == INVALID_VALUE);
    MUST(cuEventCreate(&handle, 8) == INVALID_VALUE);
    MUST(cuMemAllocManaged(&address, 16, 9) == INVALID_VALUE);
    MUST(cuMemHostAlloc(&handle, 16, 99) == INVALID_VALUE);
    MUST(cuMemAlloc_v2(NULL, 16) == INVALID_VALUE);
    MUST(cuStreamCreate(NULL, 0) == INVALID_VALUE);
    MUST(cuDeviceGetAttribute(NULL, 16, 0) == INVALID_VALUE);
    MUST(cuModuleLoadData(NULL, text) == INVALID_VALUE);
    MUST(cuModuleLoadData(&handle, NULL) == INVALID_VALUE);
    MUST(cuLaunchHostFunc(NULL, NULL, NULL) == INVALID_VALUE);
    MUST(cuModuleLoad(&handle, "/dev/zero") == INVALID_IMAGE);
    MUST(cuModuleLoad(&handle, "no such file") == FILE_NOT_FOUND);
}

int main(void)
{
    size_t bytes = read_text("TEST_PTX");
    int device, status, shared, n = 1000;
    float a[1000], c[1000];
    uint64_t da, dc, start, variable;
    size_t size;
    Handle context, link, module, function;
    void *image;
    const char *name;
    CUresult (*allocate)(uint64_t *, size_t);

    before_begin();
    DO(cuInit(0));
    DO(cuDeviceGet(&device, 0));
    without_context();
    MUST(cuCtxGetDevice(&device) == INVALID_CONTEXT);
    DO(cuDevicePrimaryCtxRetain(&context, device));
    DO(cuCtxSetCurrent(context));
    DO(cuCtxGetDevice(&device));
    DO(cuGetProcAddress_v2("cuMemAlloc", (void **)&allocate, 13000, 0, &status));
    MUST(cuGetProcAddress_v2("", &image, 13000, 0, &status) == NOT_FOUND && status == 1);
    MUST(cuGetProcAddress_v2("cuGraphDebugDotPrint", &image, 13000, 0, &status) == NOT_FOUND);
    const void *table;
    MUST(cuGetExportTable(&table, "\xda\x91\x51\xd3 and the rest") == NOT_FOUND);

    DO(cuLinkCreate_v2(0, NULL, NULL, &link));
    DO(cuLinkAddData_v2(link, 1, text, bytes, "kernels.ptx", 0, NULL, NULL));
    DO(cuLinkComplete(link, &image, &size));
    DO(cuModuleLoadData(&module, image));
    DO(cuLinkDestroy(link));
    DO(cuModuleGetFunction(&function, module, "vector_add"));
    MUST(cuModuleGetFunction(&link, module, "no_such_kernel") == NOT_FOUND);
    DO(cuModuleGetGlobal_v2(&variable, &size, module, "coefficients"));
    MUST(size == 16);

    for (int i = 0; i < n; i++)
        a[i] = i;
    DO(allocate(&da, n * 4 + 40));
    DO(allocate(&dc, n * 4));
    MUST(allocate(&start, 0) == INVALID_VALUE);
    DO(cuMemsetD32_v2(da, 0xdeadbeef, n + 10));
    /* A pointer into the middle of a buffer. */
    uint64_t inside = da + 40;
    DO(cuMemcpyHtoD_v2(inside, a, n * 4));
    DO(cuMemGetAddressRange_v2(&start, &size, inside + 5));
    MUST(start == da && size == n * 4 + 40);
    struct { uint64_t a, b, c; int n; } packed = {inside, inside, dc, n};
    size_t packed_bytes = sizeof packed;
    void *extra[] = {(void *)1, &packed, (void *)2, &packed_bytes, NULL};
    DO(cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, NULL, NULL, extra));
    DO(cuCtxSynchronize());
    DO(cuMemcpyDtoH_v2(c, dc, n * 4));
    for (int i = 0; i < n; i++)
        MUST(c[i] == 2 * a[i]);
    void *arguments[] = {&dc, &inside, &dc, &n};
    DO(cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL));
    DO(cuMemcpyDtoH_v2(c, dc, n * 4));
    MUST(c[999] == 3 * a[999]);
    MUST(cuLaunchKernel(function, 0, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL) == INVALID_VALUE);
    DO(cuFuncGetAttribute(&shared, 1, function));
    MUST(shared == 0);
    unknown_numbers(function);
    two_units(allocate);
    conditions(allocate);
    tensor_maps(allocate);
    textures(allocate);
    DO(cuMemFree_v2(da));
    MUST(cuMemFree_v2(da) == INVALID_VALUE);
    DO(cuModuleUnload(module));
    MUST(cuModuleUnload(module) == INVALID_HANDLE);
    DO(cuGetErrorName(INVALID_HANDLE, &name));
    MUST(!strcmp(name, "CUDA_ERROR_INVALID_HANDLE"));
    printf("right\n");
    return 0;
}
