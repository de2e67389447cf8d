/* A client of the driver's interface: finds functions as clients do, links PTX, and launches with
   packed parameters. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef void *Handle;

CUresult cuInit(unsigned);
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
CUresult cuLaunchKernel(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void **, void **);
CUresult cuGetErrorName(CUresult, const char **);
CUresult cuGetExportTable(const void **, const void *);

#define MUST(condition)                                          \
    do {                                                         \
        if (!(condition)) {                                      \
            printf("%d: not so: %s\n", __LINE__, #condition);    \
            exit(1);                                             \
        }                                                        \
    } while (0)
#define DO(call) MUST((call) == 0)
enum { INVALID_VALUE = 1, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_FOUND = 500 };

int main(void)
{
    static char text[1 << 16];
    FILE *file = fopen(getenv("TEST_PTX"), "rb");
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    int device, status, shared, n = 1000;
    float a[1000], c[1000];
    uint64_t da, dc, start, variable;
    size_t size;
    Handle context, link, module, function;
    void *image;
    const char *name;
    CUresult (*allocate)(uint64_t *, size_t);

    DO(cuInit(0));
    DO(cuDeviceGet(&device, 0));
    MUST(cuCtxGetDevice(&device) == INVALID_CONTEXT);
    DO(cuDevicePrimaryCtxRetain(&context, device));
    DO(cuCtxSetCurrent(context));
    DO(cuCtxGetDevice(&device));
    DO(cuGetProcAddress_v2("cuMemAlloc", (void **)&allocate, 13000, 0, &status));
    MUST(cuGetProcAddress_v2("", &image, 13000, 0, &status) == NOT_FOUND && status == 1);
    MUST(cuGetProcAddress_v2("cuGraphCreate", &image, 13000, 0, &status) == NOT_FOUND);
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
    DO(cuMemFree_v2(da));
    MUST(cuMemFree_v2(da) == INVALID_VALUE);
    DO(cuModuleUnload(module));
    MUST(cuModuleUnload(module) == INVALID_HANDLE);
    DO(cuGetErrorName(INVALID_HANDLE, &name));
    MUST(!strcmp(name, "CUDA_ERROR_INVALID_HANDLE"));
    printf("right\n");
    return 0;
}
