/* Programs that use CUDA as benchmarks do, each with its reference on the CPU. The first argument
   chooses one. With `-x c` it needs no CUDA headers (`runtime.h`); nvcc compiles it as it is:
     nvcc -cudart shared -arch=compute_75 -o programs programs.cu */

#ifdef __CUDACC__
#include "kernels.cu"
#include <stdio.h>
#include <stdlib.h>
#define KERNEL(name) ((const void *)name)
static dim3 extent(unsigned x, unsigned y) { return dim3(x, y, 1); }
#else
#include "runtime.h"
#endif
#define SYMBOL(name) ((const void *)&name)
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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
#define LAUNCH(kernel, grid, block, shared, stream, ...)                             \
    do {                                                                             \
        void *arguments_[] = {__VA_ARGS__};                                          \
        DO(cudaLaunchKernel(KERNEL(kernel), grid, block, arguments_, shared, stream)); \
    } while (0)

static void *device(size_t bytes)
{
    void *address;
    DO(cudaMalloc(&address, bytes));
    return address;
}

static void *on_device(const void *from, size_t bytes)
{
    void *address = device(bytes);
    DO(cudaMemcpy(address, from, bytes, cudaMemcpyHostToDevice));
    return address;
}

static void back(void *to, const void *from, size_t bytes)
{
    DO(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}

static unsigned state = 1;
static unsigned random_number(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}
static float random_float(void) { return random_number() / 16777216.0f; }
static float *floats(int n)
{
    float *values = (float *)malloc(n * sizeof(float));
    for (int i = 0; i < n; i++)
        values[i] = random_float();
    return values;
}
static int near_to(float a, float b) { return fabsf(a - b) <= 1e-4f * (1.0f + fabsf(b)); }

/* The time between two events, as benchmarks take it. */
static cudaEvent_t events[2];
static void begin(void)
{
    for (int i = 0; i < 2; i++)
        DO(cudaEventCreate(&events[i]));
    DO(cudaEventRecord(events[0], 0));
}
static void end(void)
{
    float elapsed;
    DO(cudaEventRecord(events[1], 0));
    DO(cudaEventSynchronize(events[1]));
    DO(cudaEventElapsedTime(&elapsed, events[0], events[1]));
    for (int i = 0; i < 2; i++)
        DO(cudaEventDestroy(events[i]));
    printf("elapsed %.9g\n", elapsed);
}

static void vector_addition(void)
{
    int n = 1 << 16;
    float *a = floats(n), *b = floats(n), *c = (float *)malloc(n * 4);
    float *da = (float *)on_device(a, n * 4), *db = (float *)on_device(b, n * 4), *dc = (float *)device(n * 4);
    begin();
    LAUNCH(vector_add, extent(n / 256, 1), extent(256, 1), 0, 0, &da, &db, &dc, &n);
    end();
    back(c, dc, n * 4);
    for (int i = 0; i < n; i++)
        MUST(c[i] == a[i] + b[i]);
    DO(cudaFree(da));
    DO(cudaFree(db));
    DO(cudaFree(dc));
    MUST(cudaFree(dc) == cudaErrorInvalidValue);
    MUST(cudaGetLastError() == cudaErrorInvalidValue && cudaGetLastError() == cudaSuccess);
#ifdef __CUDACC__
    dc = (float *)device(n * 4);
    vector_add<<<n / 256, 256>>>(dc, dc, dc, n);
    DO(cudaGetLastError());
    DO(cudaFree(dc));
#endif
}

static void heat(void)
{
    int rows = 100, columns = 70, n = rows * columns, steps = 40;
    float *in = floats(n), *power = floats(n), *out = (float *)malloc(n * 4);
    float *a = (float *)on_device(in, n * 4), *p = (float *)on_device(power, n * 4), *b = (float *)device(n * 4);
    begin();
    for (int step = 0; step < steps; step++) {
        LAUNCH(stencil, extent((columns + 15) / 16, (rows + 15) / 16), extent(16, 16), 0, 0, &a, &p, &b, &rows, &columns);
        float *swap = a;
        a = b, b = swap;
    }
    end();
    back(out, a, n * 4);
    float *next = (float *)malloc(n * 4);
    for (int step = 0; step < steps; step++) {
        for (int y = 0; y < rows; y++)
            for (int x = 0; x < columns; x++) {
                float c = in[y * columns + x];
                float sum = in[y * columns + (x ? x - 1 : 0)] + in[y * columns + (x < columns - 1 ? x + 1 : x)] +
                            in[(y ? y - 1 : 0) * columns + x] + in[(y < rows - 1 ? y + 1 : y) * columns + x];
                next[y * columns + x] = c + 0.125f * (sum - 4.0f * c) + 0.0625f * power[y * columns + x];
            }
        memcpy(in, next, n * 4);
    }
    for (int i = 0; i < n; i++)
        MUST(near_to(out[i], in[i]));
}

static void search(void)
{
    int n = 2000, degree = 4;
    int *offsets = (int *)malloc((n + 1) * 4), *edges = (int *)malloc(n * degree * 4), *levels = (int *)malloc(n * 4);
    int *expected = (int *)malloc(n * 4), *queue = (int *)malloc(n * 4), first = 0, last = 0;
    for (int i = 0; i <= n; i++)
        offsets[i] = i * degree;
    for (int i = 0; i < n * degree; i++)
        edges[i] = random_number() % n;
    for (int i = 0; i < n; i++)
        levels[i] = expected[i] = i ? -1 : 0;
    for (queue[last++] = 0; first < last; first++)
        for (int e = offsets[queue[first]]; e < offsets[queue[first] + 1]; e++)
            if (expected[edges[e]] < 0) {
                expected[edges[e]] = expected[queue[first]] + 1;
                queue[last++] = edges[e];
            }
    int *o = (int *)on_device(offsets, (n + 1) * 4), *e = (int *)on_device(edges, n * degree * 4);
    int *l = (int *)on_device(levels, n * 4), *changed = (int *)device(4), again = 1;
    begin();
    for (int level = 0; again; level++) {
        DO(cudaMemset(changed, 0, 4));
        LAUNCH(bfs_level, extent((n + 255) / 256, 1), extent(256, 1), 0, 0, &o, &e, &l, &level, &n, &changed);
        back(&again, changed, 4);
    }
    end();
    back(levels, l, n * 4);
    MUST(!memcmp(levels, expected, n * 4));
}

static void alignment(void)
{
    int size = 96, penalty = 10, width = size + 1;
    int *score = (int *)calloc(width * width, 4), *similarity = (int *)malloc(width * width * 4);
    int *result = (int *)malloc(width * width * 4);
    for (int i = 0; i < width * width; i++)
        similarity[i] = (int)(random_number() % 21) - 10;
    for (int i = 1; i < width; i++)
        score[i] = score[i * width] = -penalty * i;
    int *s = (int *)on_device(score, width * width * 4), *t = (int *)on_device(similarity, width * width * 4);
    begin();
    for (int diagonal = 2; diagonal <= 2 * size; diagonal++)
        LAUNCH(alignment_diagonal, extent((size + 31) / 32, 1), extent(32, 1), 0, 0, &s, &t, &size, &diagonal, &penalty);
    end();
    back(result, s, width * width * 4);
    for (int i = 1; i < width; i++)
        for (int j = 1; j < width; j++) {
            int best = score[(i - 1) * width + j - 1] + similarity[i * width + j];
            if (score[(i - 1) * width + j] - penalty > best)
                best = score[(i - 1) * width + j] - penalty;
            if (score[i * width + j - 1] - penalty > best)
                best = score[i * width + j - 1] - penalty;
            score[i * width + j] = best;
        }
    MUST(!memcmp(result, score, width * width * 4));
}

static void path(void)
{
    int rows = 20, columns = 1000;
    int *wall = (int *)malloc(rows * columns * 4), *result = (int *)malloc(columns * 4);
    int *row = (int *)malloc(columns * 4), *next = (int *)malloc(columns * 4);
    for (int i = 0; i < rows * columns; i++)
        wall[i] = random_number() % 10;
    int *w = (int *)on_device(wall, rows * columns * 4), *a = (int *)on_device(wall, columns * 4), *b = (int *)device(columns * 4);
    memcpy(row, wall, columns * 4);
    begin();
    for (int y = 1; y < rows; y++) {
        int *of_row = w + y * columns, *swap;
        LAUNCH(path_row, extent(4, 1), extent(256, 1), 0, 0, &of_row, &a, &b, &columns);
        swap = a, a = b, b = swap;
        for (int x = 0; x < columns; x++) {
            int best = row[x];
            if (x && row[x - 1] < best)
                best = row[x - 1];
            if (x < columns - 1 && row[x + 1] < best)
                best = row[x + 1];
            next[x] = wall[y * columns + x] + best;
        }
        memcpy(row, next, columns * 4);
    }
    end();
    back(result, a, columns * 4);
    MUST(!memcmp(result, row, columns * 4));
}

static void layer(void)
{
    int inputs = 500, units = 16, n = inputs * units;
    float *input = floats(inputs), *weights = floats(n), *errors = floats(units), *before = floats(n);
    float *output = (float *)malloc(units * 4), *adjusted = (float *)malloc(n * 4), *momentum = (float *)malloc(n * 4);
    float *i = (float *)on_device(input, inputs * 4), *w = (float *)on_device(weights, n * 4), *o = (float *)device(units * 4);
    float *e = (float *)on_device(errors, units * 4), *m = (float *)on_device(before, n * 4);
    begin();
    LAUNCH(layer_forward, extent(units, 1), extent(128, 1), 128 * 4, 0, &i, &w, &o, &inputs);
    LAUNCH(layer_adjust, extent((inputs + 15) / 16, units / 16), extent(16, 16), 0, 0, &i, &e, &w, &m, &inputs);
    end();
    back(output, o, units * 4);
    back(adjusted, w, n * 4);
    back(momentum, m, n * 4);
    for (int unit = 0; unit < units; unit++) {
        double sum = 0;
        for (int k = 0; k < inputs; k++) {
            int at = unit * inputs + k;
            float change = 0.3f * errors[unit] * input[k] + 0.3f * before[at];
            sum += (double)input[k] * weights[at];
            MUST(near_to(momentum[at], change) && near_to(adjusted[at], weights[at] + change));
        }
        MUST(near_to(output[unit], (float)sum));
    }
    /* More dynamic shared memory than every GPU has needs an attribute. */
    void *arguments[] = {&i, &w, &o, &inputs};
    MUST(cudaLaunchKernel(KERNEL(layer_forward), extent(units, 1), extent(128, 1), arguments, 60000, 0) == cudaErrorInvalidValue);
    cudaGetLastError();
    if (cudaFuncSetAttribute(KERNEL(layer_forward), cudaFuncAttributeMaxDynamicSharedMemorySize, 60000) == cudaSuccess)
        DO(cudaLaunchKernel(KERNEL(layer_forward), extent(units, 1), extent(128, 1), arguments, 60000, 0));
    cudaGetLastError();
    MUST(cudaLaunchKernel(KERNEL(layer_forward), extent(units, 1), extent(2000, 1), arguments, 0, 0) == cudaErrorInvalidConfiguration);
    cudaGetLastError();
}

static float *regular(int n)
{
    float *m = floats(n * n);
    for (int i = 0; i < n; i++)
        m[i * n + i] += n;
    return m;
}

static void triangles(void)
{
    int n = 64, tile = 16, at;
    float *m = regular(n), *result = (float *)malloc(n * n * 4), *d = (float *)on_device(m, n * n * 4);
    begin();
    for (at = 0; at < n - tile; at += tile) {
        int left = n / tile - at / tile - 1;
        LAUNCH(lud_diagonal, extent(1, 1), extent(tile, 1), 0, 0, &d, &n, &at);
        LAUNCH(lud_perimeter, extent(left, 1), extent(2 * tile, 1), 0, 0, &d, &n, &at);
        LAUNCH(lud_internal, extent(left, left), extent(tile, tile), 0, 0, &d, &n, &at);
    }
    LAUNCH(lud_diagonal, extent(1, 1), extent(tile, 1), 0, 0, &d, &n, &at);
    end();
    back(result, d, n * n * 4);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k <= (i < j ? i : j); k++)
                sum += (k == i ? 1.0 : (double)result[i * n + k]) * result[k * n + j];
            MUST(near_to((float)sum, m[i * n + j]));
        }
}

static void elimination(void)
{
    int n = 40;
    float *a = regular(n), *b = floats(n), *x = (float *)malloc(n * 4);
    float *ra = (float *)malloc(n * n * 4), *rb = (float *)malloc(n * 4);
    float *da = (float *)on_device(a, n * n * 4), *db = (float *)on_device(b, n * 4), *factors = (float *)device(n * 4);
    begin();
    for (int k = 0; k < n - 1; k++) {
        LAUNCH(gaussian_factors, extent(1, 1), extent(64, 1), 0, 0, &factors, &da, &n, &k);
        LAUNCH(gaussian_rows, extent(3, 3), extent(16, 16), 0, 0, &factors, &da, &db, &n, &k);
    }
    end();
    back(ra, da, n * n * 4);
    back(rb, db, n * 4);
    for (int i = n - 1; i >= 0; i--) {
        x[i] = rb[i];
        for (int j = i + 1; j < n; j++)
            x[i] -= ra[i * n + j] * x[j];
        x[i] /= ra[i * n + i];
    }
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++)
            sum += (double)a[i * n + j] * x[j];
        MUST(near_to((float)sum, b[i]));
    }
}

/* The host looks at the image's mean and variance before each step. */
static void speckles(void)
{
    int rows = 60, columns = 90, n = rows * columns;
    float *image = floats(n), *result = (float *)malloc(n * 4), *coefficient = (float *)malloc(n * 4), sums[2];
    float (*slope)[4] = (float (*)[4])malloc(n * 16);
    for (int i = 0; i < n; i++)
        image[i] = expf(image[i]);
    float *d = (float *)on_device(image, n * 4), *s = (float *)device(8);
    float *slopes = (float *)device(n * 16), *coefficients_of = (float *)device(n * 4);
    dim3 grid = extent((columns + 15) / 16, (rows + 15) / 16), block = extent(16, 16);
    begin();
    for (int step = 0; step < 2; step++) {
        double sum = 0, squares = 0;
        DO(cudaMemset(s, 0, 8));
        LAUNCH(moments, extent((n + 255) / 256, 1), extent(256, 1), 0, 0, &d, &n, &s);
        back(sums, s, 8);
        for (int i = 0; i < n; i++) {
            sum += image[i];
            squares += (double)image[i] * image[i];
        }
        MUST(near_to(sums[0], (float)sum) && near_to(sums[1], (float)squares));
        float mean = sums[0] / n, noise = (sums[1] / n - mean * mean) / (mean * mean);
        LAUNCH(edge_slopes, grid, block, 0, 0, &d, &slopes, &coefficients_of, &rows, &columns, &noise);
        LAUNCH(edge_diffusion, grid, block, 0, 0, &d, &slopes, &coefficients_of, &rows, &columns);
        for (int i = 0; i < n; i++) {
            int x = i % columns, y = i / columns;
            float c = image[i], squares_of = 0, laplacian = 0;
            int to[4] = {y ? i - columns : i, y < rows - 1 ? i + columns : i, x ? i - 1 : i, x < columns - 1 ? i + 1 : i};
            for (int k = 0; k < 4; k++) {
                slope[i][k] = image[to[k]] - c;
                squares_of += slope[i][k] * slope[i][k];
                laplacian += slope[i][k];
            }
            squares_of /= c * c, laplacian /= c;
            float half = 1.0f + 0.25f * laplacian;
            float q = (0.5f * squares_of - 0.0625f * laplacian * laplacian) / (half * half);
            float value = 1.0f / (1.0f + (q - noise) / (noise * (1.0f + noise)));
            coefficient[i] = value < 0.0f ? 0.0f : value > 1.0f ? 1.0f : value;
        }
        for (int i = 0; i < n; i++) {
            int south = i / columns < rows - 1 ? i + columns : i, east = i % columns < columns - 1 ? i + 1 : i;
            image[i] += 0.125f * (coefficient[i] * slope[i][0] + coefficient[south] * slope[i][1] +
                                  coefficient[i] * slope[i][2] + coefficient[east] * slope[i][3]);
        }
    }
    end();
    back(result, d, n * 4);
    for (int i = 0; i < n; i++)
        MUST(near_to(result[i], image[i]));
}

static void variables(void)
{
    int n = 300, seen;
    size_t bytes;
    float *x = floats(n), *y = (float *)malloc(n * 4), c[4] = {1, 2, 3, 4};
    float *dx = (float *)on_device(x, n * 4), *dy = (float *)device(n * 4);
    for (int round = 0; round < 2; round++) {
        LAUNCH(polynomial, extent(3, 1), extent(128, 1), 0, 0, &dy, &dx, &n);
        back(y, dy, n * 4);
        for (int i = 0; i < n; i++)
            MUST(near_to(y[i], ((c[3] * x[i] + c[2]) * x[i] + c[1]) * x[i] + c[0]));
        DO(cudaMemcpyFromSymbol(&seen, SYMBOL(visits), 4, 0, cudaMemcpyDeviceToHost));
        MUST(seen == 8 + round);
        c[1] = -5, c[2] = 0.5f;
        DO(cudaMemcpyToSymbol(SYMBOL(coefficients), c + 1, 8, 4, cudaMemcpyHostToDevice));
    }
    DO(cudaGetSymbolSize(&bytes, SYMBOL(coefficients)));
    MUST(bytes == 16);
    MUST(cudaMemcpyToSymbol(SYMBOL(coefficients), c, 16, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    cudaGetLastError();
}

static void managed(void)
{
    int *counter, own = 40;
    DO(cudaMallocManaged((void **)&counter, 4, cudaMemAttachGlobal));
    *counter = 10;
    MUST(total == 5);
    total = 100;
    LAUNCH(count_up, extent(4, 1), extent(32, 1), 0, 0, &counter);
    DO(cudaDeviceSynchronize());
    MUST(*counter == 10 + 128 && total == 100 + 256);
    DO(cudaFree(counter));
    DO(cudaMallocHost((void **)&counter, 4));
    *counter = 0;
    LAUNCH(count_up, extent(1, 1), extent(32, 1), 0, 0, &counter);
    DO(cudaDeviceSynchronize());
    MUST(*counter == 32);
    DO(cudaFreeHost(counter));
    counter = &own;
    DO(cudaHostRegister(counter, 4, 0));
    LAUNCH(count_up, extent(1, 1), extent(32, 1), 0, 0, &counter);
    DO(cudaDeviceSynchronize());
    DO(cudaHostUnregister(counter));
    MUST(own == 72);
}

/* Launches that find memory as an equal one found it, and some that nearly do. */
static void repetition(void)
{
    int n = 1 << 12;
    dim3 grid = extent(n / 256, 1), block = extent(256, 1);
    float *a = floats(n), *b = floats(n), *c = (float *)calloc(n, 4), *seen = (float *)malloc(n * 4), *shared;
    float *da = (float *)on_device(a, n * 4), *db = (float *)on_device(b, n * 4), *dc = (float *)device(n * 4);
    DO(cudaMallocManaged((void **)&shared, n * 4, cudaMemAttachGlobal));
    memset(shared, 0, n * 4);
#define SAME(values, buffer)                                                         \
    do {                                                                             \
        back(seen, buffer, n * 4);                                                   \
        MUST(!memcmp(seen, values, n * 4));                                          \
    } while (0)
    for (int round = 0; round < 200; round++) {
        LAUNCH(vector_add, grid, block, 0, 0, &da, &db, &dc, &n);
        for (int i = 0; i < n; i++)
            c[i] = a[i] + b[i];
        if (round % 7 == 3)
            SAME(c, dc);
        /* The host writes a word. */
        if (round % 10 == 9) {
            int at = random_number() % n;
            a[at] = random_float();
            DO(cudaMemcpy(da + at, a + at, 4, cudaMemcpyHostToDevice));
        }
        /* The sum grows in its place, and begins anew. */
        if (round % 25 == 24) {
            for (int sum = 0; sum < 3; sum++) {
                LAUNCH(vector_add, grid, block, 0, 0, &dc, &db, &dc, &n);
                for (int i = 0; i < n; i++)
                    c[i] += b[i];
                SAME(c, dc);
            }
            DO(cudaMemset(dc, 0, n * 4));
        }
        /* Managed memory changes without a call. */
        if (round % 3 == 1) {
            shared[round] += 1.0f;
            LAUNCH(vector_add, grid, block, 0, 0, &shared, &db, &dc, &n);
            DO(cudaDeviceSynchronize());
            for (int i = 0; i < n; i++)
                c[i] = shared[i] + b[i];
            SAME(c, dc);
            shared[round] -= 1.0f;
        }
    }
    /* Another buffer at the same address. */
    for (int round = 0; round < 6; round++) {
        DO(cudaFree(dc));
        dc = (float *)on_device(round % 2 ? a : b, n * 4);
        LAUNCH(vector_add, grid, block, 0, 0, &dc, &db, &dc, &n);
        for (int i = 0; i < n; i++)
            c[i] = (round % 2 ? a : b)[i] + b[i];
        SAME(c, dc);
    }
    /* Memory that the program registered and gave back is not looked at. */
    void *gone = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    DO(cudaHostRegister(gone, 1 << 16, 0));
    munmap(gone, 1 << 16);
    for (int round = 0; round < 3; round++)
        LAUNCH(vector_add, grid, block, 0, 0, &da, &db, &dc, &n);
    DO(cudaHostUnregister(gone));
}

static void rows_with_pitch(void)
{
    int width = 33, height = 7;
    size_t pitch;
    float *in = floats(width * height), *out = (float *)calloc(width * height, 4), *rows;
    DO(cudaMallocPitch((void **)&rows, &pitch, width * 4, height));
    DO(cudaMemset2D(rows, pitch, 0xff, width * 4, height));
    DO(cudaMemcpy2D(rows, pitch, in, width * 4, width * 4, height, cudaMemcpyHostToDevice));
    LAUNCH(double_rows, extent(2, height), extent(32, 1), 0, 0, &rows, &pitch, &width, &height);
    DO(cudaMemcpy2D(out, width * 4, rows, pitch, width * 4, height, cudaMemcpyDeviceToHost));
    for (int i = 0; i < width * height; i++)
        MUST(out[i] == 2.0f * in[i]);
    MUST(cudaMemcpy(out, rows, pitch * height + 1, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
    cudaGetLastError();
}

static void streams(void)
{
    int n = 1 << 14;
    float *a = floats(n), *c = (float *)malloc(n * 4), once, both;
    float *da = (float *)device(n * 4), *dc = (float *)device(n * 4), *dd = (float *)device(n * 4);
    cudaStream_t first, second;
    cudaEvent_t at[4];
    DO(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    DO(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    for (int i = 0; i < 4; i++)
        DO(cudaEventCreate(&at[i]));
    DO(cudaMemcpyAsync(da, a, n * 4, cudaMemcpyDefault, first));
    DO(cudaEventRecord(at[0], first));
    LAUNCH(vector_add, extent(n / 256, 1), extent(256, 1), 0, first, &da, &da, &dc, &n);
    DO(cudaEventRecord(at[1], first));
    DO(cudaStreamWaitEvent(second, at[1], 0));
    DO(cudaEventRecord(at[2], second));
    LAUNCH(vector_add, extent(n / 256, 1), extent(256, 1), 0, second, &da, &dc, &dd, &n);
    DO(cudaEventRecord(at[3], second));
    DO(cudaMemcpyAsync(c, dd, n * 4, cudaMemcpyDeviceToHost, second));
    DO(cudaStreamSynchronize(second));
    DO(cudaEventElapsedTime(&once, at[0], at[1]));
    DO(cudaEventElapsedTime(&both, at[0], at[3]));
    MUST(once > 0 && both > once);
    for (int i = 0; i < n; i++)
        MUST(c[i] == a[i] + (a[i] + a[i]));
    DO(cudaStreamDestroy(first));
    DO(cudaStreamDestroy(second));
    DO(cudaEventDestroy(at[0]));
}

static void printing(void)
{
    printf("before\n");
    void *none[] = {NULL};
    DO(cudaLaunchKernel(KERNEL(hello), extent(1, 1), extent(3, 1), none, 0, 0));
    DO(cudaDeviceSynchronize());
    printf("after\n");
}

static void assertion(void)
{
    int limit = 5;
    LAUNCH(refuse, extent(1, 1), extent(32, 1), 0, 0, &limit);
    MUST(cudaDeviceSynchronize() == cudaErrorAssert);
    MUST(cudaGetLastError() == cudaErrorAssert);
    MUST(cudaMalloc((void **)&limit, 4) == cudaErrorAssert);
}

static void fault(void)
{
    int *buffer = (int *)device(400);
    LAUNCH(out_of_bounds, extent(1, 1), extent(1, 1), 0, 0, &buffer);
    MUST(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    MUST(!strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress"));
    MUST(strstr(cudaGetErrorString(cudaErrorIllegalAddress), "illegal memory access"));
}

/* Faults are reported and left out: the load gives zero, and the program goes on. */
static void passed_fault(void)
{
    int *buffer = (int *)device(400);
    LAUNCH(out_of_bounds, extent(1, 1), extent(1, 1), 0, 0, &buffer);
    DO(cudaDeviceSynchronize());
}

/* Somebody ends the program some time after its launches. */
static void killed(void)
{
    int *buffer = (int *)device(516);
    for (int i = 0; i < 2; i++) {
        LAUNCH(out_of_bounds, extent(1, 1), extent(1, 1), 0, 0, &buffer);
        sleep(2);
        DO(cudaDeviceSynchronize());
    }
    raise(SIGKILL);
}

#ifdef __CUDACC__
#define ATTRIBUTE(number) ((cudaMemPoolAttr)(number))
#else
#define ATTRIBUTE(number) (number)
#endif

/* Blocks of the device's pool and of one of the program's own. */
static void pools(void)
{
    enum { BYTES = 4096 };
    cudaMemPool_t standard, current, own;
    struct cudaMemPoolProps properties;
    uint64_t used, high, threshold = UINT64_MAX, zero = 0;
    void *a, *b;
    int supported;

    DO(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    MUST(supported == 1);
    DO(cudaDeviceGetDefaultMemPool(&standard, 0));
    DO(cudaDeviceGetMemPool(&current, 0));
    MUST(standard == current);
    DO(cudaMemPoolSetAttribute(standard, ATTRIBUTE(cudaMemPoolAttrReleaseThreshold), &threshold));
    threshold = 1;
    DO(cudaMemPoolGetAttribute(standard, ATTRIBUTE(cudaMemPoolAttrReleaseThreshold), &threshold));
    MUST(threshold == UINT64_MAX);

    memset(&properties, 0, sizeof properties);
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    DO(cudaMemPoolCreate(&own, &properties));
    DO(cudaMallocFromPoolAsync(&a, BYTES, own, 0));
    DO(cudaDeviceSetMemPool(0, own));
    DO(cudaMallocAsync(&b, 3 * BYTES, 0));
    DO(cudaMemPoolGetAttribute(own, ATTRIBUTE(cudaMemPoolAttrUsedMemCurrent), &used));
    MUST(used == 4 * BYTES);
    DO(cudaMemset(b, 7, 3 * BYTES));
    DO(cudaFreeAsync(b, 0));
    DO(cudaFree(a));
    MUST(cudaFree(a) == cudaErrorInvalidValue);
    DO(cudaMemPoolGetAttribute(own, ATTRIBUTE(cudaMemPoolAttrUsedMemCurrent), &used));
    DO(cudaMemPoolGetAttribute(own, ATTRIBUTE(cudaMemPoolAttrUsedMemHigh), &high));
    MUST(used == 0 && high == 4 * BYTES);
    DO(cudaMemPoolSetAttribute(own, ATTRIBUTE(cudaMemPoolAttrUsedMemHigh), &zero));
    DO(cudaMemPoolGetAttribute(own, ATTRIBUTE(cudaMemPoolAttrUsedMemHigh), &high));
    MUST(high == 0);
    DO(cudaMemPoolTrimTo(own, 0));
    DO(cudaMemPoolDestroy(own));
    MUST(cudaMemPoolDestroy(own) == cudaErrorInvalidValue);
    MUST(cudaMallocFromPoolAsync(&a, BYTES, own, 0) == cudaErrorInvalidValue);
    /* The device's own is current again. */
    DO(cudaMallocAsync(&a, BYTES, 0));
    DO(cudaMemPoolGetAttribute(standard, ATTRIBUTE(cudaMemPoolAttrUsedMemCurrent), &used));
    MUST(used == BYTES);
    DO(cudaFreeAsync(a, 0));
}

enum { HOST_THREADS = 4, LAUNCHES = 20, VALUES = 1 << 14 };

static void *add_on_a_thread(void *unused)
{
    size_t bytes = VALUES * sizeof(float);
    float *sums = (float *)malloc(bytes), *a = (float *)device(bytes), *b = (float *)device(bytes);
    int n = VALUES;
    for (int i = 0; i < n; i++)
        sums[i] = (float)i;
    DO(cudaMemcpy(a, sums, bytes, cudaMemcpyHostToDevice));
    for (int i = 0; i < LAUNCHES; i++)
        LAUNCH(vector_add, extent(n / 256, 1), extent(256, 1), 0, 0, &a, &a, &b, &n);
    back(sums, b, bytes);
    for (int i = 0; i < n; i++)
        MUST(sums[i] == 2.0f * (float)i);
    free(sums);
    return unused;
}

/* Host threads launch at the same time, while the one that was first only waits for them. */
static void host_threads(void)
{
    pthread_t threads[HOST_THREADS];
    DO(cudaFree(device(4)));
    for (int i = 0; i < HOST_THREADS; i++)
        MUST(!pthread_create(&threads[i], NULL, add_on_a_thread, NULL));
    for (int i = 0; i < HOST_THREADS; i++)
        MUST(!pthread_join(threads[i], NULL));
}

static void occupancy(void)
{
    int ctas, sms, major;
    struct cudaFuncAttributes facts;
    DO(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    DO(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    DO(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas, KERNEL(stencil), 256, 0));
    DO(cudaFuncGetAttributes(&facts, KERNEL(stencil)));
    MUST(facts.sharedSizeBytes == 18 * 18 * 4);
    printf("%d registers, %d CTAs, %d SMs, capability %d\n", facts.numRegs, ctas, sms, major);
}

static void empty(void)
{
    void *none[] = {NULL};
    for (int i = 0; i < 100000; i++)
        DO(cudaLaunchKernel(KERNEL(nothing), extent(1, 1), extent(32, 1), none, 0, 0));
    DO(cudaDeviceSynchronize());
}

static void unsupported(void)
{
#ifndef __CUDACC__
    MUST(cudaGraphDebugDotPrint(NULL, NULL, 0) == cudaErrorNotSupported);
    MUST(cudaGraphDebugDotPrint(NULL, NULL, 0) == cudaErrorNotSupported);
#endif
}

#ifndef __CUDACC__
static void count_call(void *calls) { ++*(int *)calls; }

/* Streams that fork and join become a graph, which computes nothing before it is launched. */
static void captured_graph(void)
{
    int n = 1 << 14, calls = 0, status = -1;
    float *a = floats(n), *out = (float *)calloc(n, 4), once, twice;
    float *da = (float *)device(n * 4), *dc = (float *)device(n * 4), *dd = (float *)device(n * 4);
    cudaStream_t first, second;
    cudaEvent_t fork, join, at[3];
    cudaGraph_t graph, other;
    cudaGraphExec_t ready;
    size_t nodes = 0;
    DO(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    DO(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    DO(cudaEventCreate(&fork));
    DO(cudaEventCreate(&join));
    for (int i = 0; i < 3; i++)
        DO(cudaEventCreate(&at[i]));

    DO(cudaStreamBeginCapture(first, 0));
    DO(cudaStreamIsCapturing(first, &status));
    MUST(status == 1);
    DO(cudaMemcpyAsync(da, a, n * 4, cudaMemcpyDefault, first));
    DO(cudaEventRecord(fork, first));
    DO(cudaStreamWaitEvent(second, fork, 0));
    LAUNCH(vector_add, extent(n / 256, 1), extent(256, 1), 0, second, &da, &da, &dc, &n);
    DO(cudaMemsetAsync(dd, 0, n * 4, first));
    DO(cudaEventRecord(join, second));
    DO(cudaStreamWaitEvent(first, join, 0));
    LAUNCH(vector_add, extent(n / 256, 1), extent(256, 1), 0, first, &dc, &dd, &dd, &n);
    DO(cudaMemcpyAsync(out, dd, n * 4, cudaMemcpyDeviceToHost, first));
    DO(cudaLaunchHostFunc(first, count_call, &calls));
    MUST(cudaStreamEndCapture(second, &other) == cudaErrorStreamCaptureUnmatched);
    DO(cudaStreamEndCapture(first, &graph));
    DO(cudaStreamIsCapturing(second, &status));
    MUST(status == 0 && calls == 0 && out[1] == 0);
    DO(cudaGraphGetNodes(graph, NULL, &nodes));
    MUST(nodes == 6);
    DO(cudaGraphGetRootNodes(graph, NULL, &nodes));
    MUST(nodes == 1);

    DO(cudaGraphInstantiate(&ready, graph, 0, NULL, 0));
    DO(cudaGraphDestroy(graph));
    DO(cudaEventRecord(at[0], first));
    for (int round = 1; round <= 2; round++) {
        a[1] = 10.0f * round;
        DO(cudaGraphLaunch(ready, first));
        DO(cudaEventRecord(at[round], first));
        DO(cudaStreamSynchronize(first));
        MUST(calls == round);
        for (int i = 0; i < n; i++)
            MUST(out[i] == a[i] + a[i]);
    }
    DO(cudaEventElapsedTime(&once, at[0], at[1]));
    DO(cudaEventElapsedTime(&twice, at[0], at[2]));
    MUST(once > 0 && fabsf(twice - 2 * once) < once / 2);

    /* A launch in a stream that is captured is a part of the new graph. */
    DO(cudaStreamBeginCapture(second, 0));
    DO(cudaGraphLaunch(ready, second));
    DO(cudaStreamEndCapture(second, &other));
    DO(cudaGraphExecDestroy(ready));
    DO(cudaGraphInstantiate(&ready, other, 0, NULL, 0));
    DO(cudaGraphLaunch(ready, second));
    MUST(calls == 3);
    MUST(cudaGraphDestroy(graph) == cudaErrorInvalidValue);
}

static void captures_that_fail(void)
{
    cudaStream_t first, second, blocking;
    cudaEvent_t event;
    cudaGraph_t graph;
    int *buffer = (int *)device(64), value = 0;
    DO(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    DO(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    DO(cudaStreamCreateWithFlags(&blocking, 0));
    DO(cudaEventCreate(&event));
    MUST(cudaStreamBeginCapture(0, 0) == cudaErrorStreamCaptureUnsupported);
    MUST(cudaStreamEndCapture(first, &graph) == cudaErrorInvalidValue);
    /* Work of another stream that nobody waits for. */
    DO(cudaStreamBeginCapture(first, 0));
    DO(cudaMemsetAsync(buffer, 0, 64, first));
    DO(cudaEventRecord(event, first));
    DO(cudaStreamWaitEvent(second, event, 0));
    DO(cudaMemsetAsync(buffer, 1, 64, second));
    MUST(cudaStreamEndCapture(first, &graph) == cudaErrorStreamCaptureUnjoined && !graph);
    /* The host must not wait. */
    DO(cudaStreamBeginCapture(first, 0));
    MUST(cudaStreamSynchronize(first) == cudaErrorStreamCaptureUnsupported);
    MUST(cudaMemsetAsync(buffer, 1, 64, first) == cudaErrorStreamCaptureInvalidated);
    MUST(cudaStreamEndCapture(first, &graph) == cudaErrorStreamCaptureInvalidated);
    /* Nor may the default stream. */
    DO(cudaStreamBeginCapture(blocking, 0));
    MUST(cudaMemcpy(&value, buffer, 4, cudaMemcpyDeviceToHost) == cudaErrorStreamCaptureImplicit);
    MUST(cudaStreamEndCapture(blocking, &graph) == cudaErrorStreamCaptureInvalidated);
    /* Work that is not captured cannot be waited for. */
    DO(cudaEventRecord(event, second));
    DO(cudaStreamBeginCapture(first, 0));
    MUST(cudaStreamWaitEvent(first, event, 0) == cudaErrorStreamCaptureIsolation);
    MUST(cudaStreamEndCapture(first, &graph) == cudaErrorStreamCaptureInvalidated);
    DO(cudaMemcpy(&value, buffer, 4, cudaMemcpyDeviceToHost));
    MUST(value == 0);
}

static void built_graph(void)
{
    int n = 1 << 12, calls = 0, version = 0, kind = -1;
    DO(cudaRuntimeGetVersion(&version));
    float *a = floats(n), *out = (float *)calloc(n, 4);
    float *da = (float *)on_device(a, n * 4), *dc = (float *)device(n * 4);
    cudaGraph_t graph, inner, clone;
    cudaGraphNode_t fill, add, copy, host, empty_one, found, again;
    cudaGraphExec_t ready;
    DO(cudaGraphCreate(&graph, 0));
    struct cudaMemsetParams zeros = {dc, 0, 0, 4, n, 1};
    DO(cudaGraphAddMemsetNode(&fill, graph, NULL, 0, &zeros));
    void *arguments[] = {&da, &dc, &dc, &n};
    struct cudaKernelNodeParams launch = {(void *)KERNEL(vector_add), extent(n / 256, 1),
                                          extent(256, 1), 0, arguments, NULL};
    DO(cudaGraphAddKernelNode(&add, graph, &fill, 1, &launch));
    DO(cudaGraphAddMemcpyNode1D(&copy, graph, NULL, 0, out, dc, n * 4, cudaMemcpyDeviceToHost));
    DO(cudaGraphAddEmptyNode(&empty_one, graph, &add, 1));
    size_t edges[2] = {version >= 13000 ? 0 : 1, 1};
    DO(cudaGraphAddDependencies(graph, &empty_one, &copy, edges[0], edges[1]));
    struct cudaHostNodeParams call = {count_call, &calls};
    DO(cudaGraphAddHostNode(&host, graph, &copy, 1, &call));
    DO(cudaGraphNodeGetType(host, &kind));
    MUST(kind == 3);
    DO(cudaGraphClone(&clone, graph));
    DO(cudaGraphNodeFindInClone(&found, host, clone));
    DO(cudaGraphNodeGetType(found, &kind));
    MUST(kind == 3 && found != host);

    DO(cudaGraphInstantiate(&ready, graph, 0, NULL, 0));
    DO(cudaGraphLaunch(ready, 0));
    DO(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++)
        MUST(out[i] == a[i]);
    /* Arguments are those that the node was made with, until they are changed. */
    void *others[] = {&da, &da, &dc, &n};
    launch.kernelParams = others;
    DO(cudaGraphLaunch(ready, 0));
    MUST(out[1] == a[1]);
    DO(cudaGraphExecKernelNodeSetParams(ready, add, &launch));
    DO(cudaGraphLaunch(ready, 0));
    DO(cudaDeviceSynchronize());
    MUST(out[1] == a[1] + a[1] && calls == 3);

    /* The clone has the first arguments. One node more is another topology. */
    struct { int result; void *nodes[2]; } info = {-1, {NULL, NULL}};
    int result = -1;
    DO(cudaGraphExecUpdate(ready, clone, &info, &result));
    MUST((version >= 12000 ? info.result : result) == 0);
    DO(cudaGraphLaunch(ready, 0));
    MUST(out[1] == a[1] && calls == 4);
    DO(cudaGraphAddEmptyNode(&again, clone, NULL, 0));
    MUST(cudaGraphExecUpdate(ready, clone, &info, &result) == cudaErrorGraphExecUpdateFailure);
    MUST((version >= 12000 ? info.result : result) == 2);

    /* A graph in a graph, memory of a graph, and an event. */
    struct cudaMemAllocNodeParams memory = {{0}};
    cudaEvent_t event;
    DO(cudaEventCreate(&event));
    memory.bytesize = n * 4;
    DO(cudaGraphCreate(&inner, 0));
    DO(cudaGraphAddMemAllocNode(&found, inner, NULL, 0, &memory));
    MUST(memory.dptr);
    void *doubled[] = {&da, &da, &memory.dptr, &n};
    launch.kernelParams = doubled;
    DO(cudaGraphAddKernelNode(&add, inner, &found, 1, &launch));
    DO(cudaGraphAddMemcpyNode1D(&copy, inner, &add, 1, out, memory.dptr, n * 4, cudaMemcpyDefault));
    DO(cudaGraphAddMemFreeNode(&found, inner, &copy, 1, memory.dptr));
    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphAddChildGraphNode(&add, graph, NULL, 0, inner));
    DO(cudaGraphAddEventRecordNode(&copy, graph, &add, 1, event));
    DO(cudaGraphExecDestroy(ready));
    DO(cudaGraphInstantiate(&ready, graph, 0, NULL, 0));
    for (int round = 0; round < 2; round++) {
        memset(out, 0, n * 4);
        DO(cudaGraphLaunch(ready, 0));
        DO(cudaEventSynchronize(event));
        MUST(out[1] == a[1] + a[1] && out[n - 1] == a[n - 1] + a[n - 1]);
    }
    /* Nodes that wait for one another never begin. */
    DO(cudaGraphAddDependencies(graph, &copy, &add, edges[0], edges[1]));
    MUST(cudaGraphInstantiate(&ready, graph, 0, NULL, 0) == cudaErrorInvalidValue);
}

/* `cudaGraphNodeParams`: the kind, and what the kind needs 16 bytes behind it. */
struct any_node { int kind, reserved[3]; union { size_t words[29]; struct cudaKernelNodeParams launch; struct cudaMemsetParams fill; struct cudaMemAllocNodeParams memory; } of; size_t end; };

static cudaError_t add_any(cudaGraphNode_t *node, cudaGraph_t graph, cudaGraphNode_t *after, struct any_node *what)
{
    int version = 0;
    size_t count = after != NULL;
    DO(cudaRuntimeGetVersion(&version));
    if (version >= 13000)
        return cudaGraphAddNode(node, graph, after, 0, count, (size_t)what);
    return cudaGraphAddNode(node, graph, after, count, (size_t)what, 0);
}

/* What nodes are asked for is what they were made of. */
static void shown_graph(void)
{
    int n = 1 << 10, calls = 0;
    float *a = floats(n), *out = (float *)calloc(n, 4);
    float *da = (float *)on_device(a, n * 4), *dc = (float *)device(n * 4);
    cudaGraph_t graph;
    cudaGraphNode_t fill, add, host, record;
    cudaGraphExec_t ready;
    cudaEvent_t event, shown_event = NULL;
    DO(cudaEventCreate(&event));
    DO(cudaGraphCreate(&graph, 0));
    struct cudaMemsetParams zeros = {dc, 0, 0x01020304, 2, n, 1}, shown_zeros;
    DO(cudaGraphAddMemsetNode(&fill, graph, NULL, 0, &zeros));
    DO(cudaGraphMemsetNodeGetParams(fill, &shown_zeros));
    MUST(shown_zeros.dst == dc && shown_zeros.value == 0x0304 && shown_zeros.elementSize == 2);
    MUST(shown_zeros.width == n && shown_zeros.height == 1);
    void *arguments[] = {&da, &da, &dc, &n};
    struct cudaKernelNodeParams launch = {(void *)KERNEL(vector_add), extent(n / 256, 1),
                                          extent(256, 1), 0, arguments, NULL}, shown;
    DO(cudaGraphAddKernelNode(&add, graph, &fill, 1, &launch));
    DO(cudaGraphKernelNodeGetParams(add, &shown));
    MUST(shown.func == (void *)KERNEL(vector_add) && shown.gridDim.x == n / 256u);
    MUST(shown.blockDim.x == 256 && shown.blockDim.z == 1 && !shown.sharedMemBytes);
    MUST(shown.kernelParams != arguments && *(float **)shown.kernelParams[2] == dc);
    MUST(*(int *)shown.kernelParams[3] == n);
    /* What a node shows can be given to a node. */
    DO(cudaGraphKernelNodeSetParams(add, &shown));
    struct cudaHostNodeParams call = {count_call, &calls}, shown_call;
    DO(cudaGraphAddHostNode(&host, graph, &add, 1, &call));
    DO(cudaGraphHostNodeGetParams(host, &shown_call));
    MUST(shown_call.fn == count_call && shown_call.userData == &calls);
    DO(cudaGraphAddEventRecordNode(&record, graph, &host, 1, event));
    DO(cudaGraphEventRecordNodeGetEvent(record, &shown_event));
    MUST(shown_event == event);
    MUST(cudaGraphEventWaitNodeGetEvent(record, &shown_event) == cudaErrorInvalidValue);
    MUST(cudaGraphKernelNodeGetParams(fill, &shown) == cudaErrorInvalidValue);
    DO(cudaGraphInstantiate(&ready, graph, 0, NULL, 0));
    DO(cudaGraphLaunch(ready, 0));
    DO(cudaDeviceSynchronize());
    DO(cudaMemcpy(out, dc, n * 4, cudaMemcpyDeviceToHost));
    MUST(calls == 1 && out[n - 1] == a[n - 1] + a[n - 1]);
    if (!cudaGraphAddNode)
        return;

    /* The same graph by nodes of any kind, with memory of its own. */
    struct any_node what;
    DO(cudaGraphCreate(&graph, 0));
    memset(&what, 0, sizeof what);
    what.kind = 10;
    what.of.memory.bytesize = n * 4;
    DO(add_any(&record, graph, NULL, &what));
    float *own = (float *)what.of.memory.dptr;
    MUST(own);
    memset(&what, 0, sizeof what);
    what.kind = 2;
    what.of.fill.dst = own;
    what.of.fill.elementSize = 4;
    what.of.fill.width = n;
    what.of.fill.height = 1;
    DO(add_any(&fill, graph, &record, &what));
    memset(&what, 0, sizeof what);
    void *sums[] = {&da, &own, &own, &n};
    launch.kernelParams = sums;
    what.of.launch = launch;
    DO(add_any(&add, graph, &fill, &what));
    DO(cudaGraphAddMemcpyNode1D(&host, graph, &add, 1, out, own, n * 4, cudaMemcpyDefault));
    DO(cudaGraphInstantiate(&ready, graph, 0, NULL, 0));
    DO(cudaGraphLaunch(ready, 0));
    DO(cudaDeviceSynchronize());
    MUST(out[1] == a[1] && out[n - 1] == a[n - 1]);
    void *others[] = {&da, &da, &own, &n};
    what.of.launch.kernelParams = others;
    DO(cudaGraphNodeSetParams(add, &what));
    DO(cudaGraphInstantiate(&ready, graph, 0, NULL, 0));
    DO(cudaGraphLaunch(ready, 0));
    DO(cudaDeviceSynchronize());
    MUST(out[n - 1] == a[n - 1] + a[n - 1]);
    what.kind = 99;
    MUST(add_any(&add, graph, &fill, &what) == cudaErrorNotSupported);
    MUST(add_any(&add, graph, &fill, NULL) == cudaErrorInvalidValue);
}

/* Copies, memory and graphs in graphs are shown, too, and what is changed in them counts. */
static void shown_places(void)
{
    int n = 1 << 10, rows = 4, kind;
    float *a = floats(n), *out = (float *)calloc(n, 4);
    float *da = (float *)on_device(a, n * 4);
    cudaGraph_t inner, graph, shown_inner, again;
    cudaGraphNode_t memory, copy, back, end, child, nodes[4];
    cudaGraphExec_t ready;
    size_t count = 4;
    struct cudaMemAllocNodeParams wanted = {{0}}, shown_memory;
    struct cudaMemcpy3DParms shown, of_rows;
    void *freed = NULL;
    wanted.bytesize = n * 4;
    DO(cudaGraphCreate(&inner, 0));
    DO(cudaGraphAddMemAllocNode(&memory, inner, NULL, 0, &wanted));
    DO(cudaGraphMemAllocNodeGetParams(memory, &shown_memory));
    MUST(shown_memory.dptr == wanted.dptr && shown_memory.bytesize == n * 4u);
    MUST(shown_memory.poolProps.allocType == cudaMemAllocationTypePinned);
    DO(cudaGraphAddMemcpyNode1D(&copy, inner, &memory, 1, wanted.dptr, da, n * 4, cudaMemcpyDefault));
    DO(cudaGraphMemcpyNodeGetParams(copy, &shown));
    MUST(shown.dstPtr.ptr == wanted.dptr && shown.srcPtr.ptr == da && !shown.srcArray);
    MUST(shown.extent.width == n * 4u && shown.extent.height == 1 && shown.extent.depth == 1);
    /* Half of each row, to every second row. */
    memset(&of_rows, 0, sizeof of_rows);
    of_rows.srcPtr.ptr = wanted.dptr;
    of_rows.srcPtr.pitch = n;
    of_rows.srcPtr.ysize = rows;
    of_rows.dstPtr.ptr = out;
    of_rows.dstPtr.pitch = n;
    of_rows.dstPtr.ysize = rows;
    of_rows.extent.width = n / 2;
    of_rows.extent.height = rows;
    of_rows.extent.depth = 1;
    of_rows.kind = cudaMemcpyDeviceToHost;
    DO(cudaGraphAddMemcpyNode(&back, inner, &copy, 1, &of_rows));
    DO(cudaGraphMemcpyNodeGetParams(back, &shown));
    MUST(shown.srcPtr.ptr == wanted.dptr && shown.srcPtr.pitch == (size_t)n && shown.dstPtr.ptr == out);
    MUST(shown.srcPtr.ysize == (size_t)rows && shown.extent.width == n / 2u && shown.extent.height == (size_t)rows);
    DO(cudaGraphMemcpyNodeSetParams(back, &shown));
    DO(cudaGraphAddMemFreeNode(&end, inner, &back, 1, wanted.dptr));
    DO(cudaGraphMemFreeNodeGetParams(end, &freed));
    MUST(freed == wanted.dptr);
    MUST(cudaGraphMemcpyNodeGetParams(end, &shown) == cudaErrorInvalidValue);
    MUST(cudaGraphMemFreeNodeGetParams(memory, &freed) == cudaErrorInvalidValue);
    MUST(cudaGraphChildGraphNodeGetGraph(memory, &again) == cudaErrorInvalidValue);

    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphAddChildGraphNode(&child, graph, NULL, 0, inner));
    DO(cudaGraphChildGraphNodeGetGraph(child, &shown_inner));
    DO(cudaGraphChildGraphNodeGetGraph(child, &again));
    MUST(shown_inner == again && shown_inner != inner);
    DO(cudaGraphGetNodes(shown_inner, nodes, &count));
    DO(cudaGraphNodeGetType(nodes[2], &kind));
    MUST(count == 4 && kind == 1 && nodes[2] != back);
    MUST(cudaGraphDestroy(shown_inner) == cudaErrorInvalidValue);
    DO(cudaGraphInstantiate(&ready, graph, 0, NULL, 0));
    DO(cudaGraphLaunch(ready, 0));
    DO(cudaDeviceSynchronize());
    MUST(out[0] == a[0] && out[n / 4] == a[n / 4] && out[n / 8] == 0);
    /* The whole row from now on, in the graph that the node stands for, and not in its model. */
    shown.extent.width = n;
    DO(cudaGraphMemcpyNodeSetParams(nodes[2], &shown));
    memset(out, 0, n * 4);
    DO(cudaGraphInstantiate(&ready, inner, 0, NULL, 0));
    DO(cudaGraphLaunch(ready, 0));
    DO(cudaDeviceSynchronize());
    MUST(out[n / 8] == 0);
    DO(cudaGraphInstantiate(&ready, graph, 0, NULL, 0));
    DO(cudaGraphLaunch(ready, 0));
    DO(cudaDeviceSynchronize());
    MUST(!memcmp(out, a, n * 4));
}

static void graphs(void)
{
    shown_graph();
    shown_places();
    captured_graph();
    captures_that_fail();
    built_graph();
}
#else
static void graphs(void) {}
#endif

static const struct { const char *name; void (*run)(void); } programs[] = {
    {"vector_addition", vector_addition}, {"heat", heat}, {"search", search}, {"alignment", alignment},
    {"path", path}, {"layer", layer}, {"triangles", triangles}, {"elimination", elimination},
    {"speckles", speckles}, {"variables", variables}, {"managed", managed},
    {"repetition", repetition},
    {"rows_with_pitch", rows_with_pitch}, {"streams", streams}, {"printing", printing},
    {"assertion", assertion}, {"fault", fault}, {"occupancy", occupancy}, {"empty", empty},
    {"unsupported", unsupported}, {"passed_fault", passed_fault}, {"killed", killed}, {"host_threads", host_threads},
    {"pools", pools}, {"graphs", graphs},
};

int main(int count, char **arguments)
{
    int version = 0;
    DO(cudaRuntimeGetVersion(&version));
    for (size_t i = 0; count > 1 && i < sizeof programs / sizeof *programs; i++)
        if (!strcmp(programs[i].name, arguments[1])) {
            programs[i].run();
            printf("right with %d\n", version / 1000);
            return 0;
        }
    printf("which?\n");
    return 2;
}
