/* A client of GPU Ocelot's library: kernels on its own arrays, with one call. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ptx_run(const char *, int, void **, int, int, int, int, int, int, int);

#define MUST(condition)                                       \
    do {                                                      \
        if (!(condition)) {                                   \
            printf("%d: not so: %s\n", __LINE__, #condition); \
            exit(1);                                          \
        }                                                     \
    } while (0)

static float on_heap_or_not[1000];

int main(void)
{
    static char text[1 << 16];
    FILE *file = fopen(getenv("TEST_SAXPY_PTX"), "rb");
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    int n = 1000;
    float factor = 2.0f, on_stack[1000], *x = (float *)malloc(n * 4);
    /* Small and large, from the heap, in a mapping of its own, of the program, on the stack. */
    float *large = (float *)calloc(1 << 22, 4), *all[] = {large + 123457, on_heap_or_not, on_stack};
    void *bits = NULL;
    memcpy(&bits, &factor, 4);
    for (int i = 0; i < n; i++)
        x[i] = i;
    for (int k = 0; k < 3; k++) {
        float *y = all[k];
        for (int i = 0; i < n; i++)
            y[i] = 1;
        void *arguments[] = {(void *)(intptr_t)n, bits, x, y};
        MUST(ptx_run(text, 4, arguments, 256, 1, 1, 4, 1, 1, 0) == 0);
        for (int i = 0; i < n; i++)
            MUST(y[i] == 2.0f * i + 1);
    }
    void *arguments[] = {(void *)(intptr_t)n, bits, x, on_stack};
    MUST(ptx_run(text, 3, arguments, 256, 1, 1, 4, 1, 1, 0) == 1);
    MUST(ptx_run(text, 4, arguments, 256, 1, 1, -4, 1, 1, 0) == 1);
    MUST(ptx_run("nonsense", 0, arguments, 1, 1, 1, 1, 1, 1, 0) != 0);
    MUST(ptx_run(text, 4, arguments, 256, 1, 1, 4, 1, 1, 0) == 0);
    /* Nothing is mapped there; later calls fail, too. */
    arguments[3] = (void *)4096;
    MUST(ptx_run(text, 4, arguments, 256, 1, 1, 4, 1, 1, 0) == 700);
    printf("right\n");
    return 0;
}
