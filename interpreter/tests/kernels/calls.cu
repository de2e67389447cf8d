// Calls of every kind: recursive, through tables and virtual functions, and of the device runtime.
// calls.ptx: nvcc 13.5, -ptx -arch=compute_80 -o calls.ptx calls.cu
#include <assert.h>
#include <stdio.h>

struct Shape {
    __device__ virtual float area() const = 0;
};

struct Square : Shape {
    float side;
    __device__ Square(float side) : side(side) {}
    __device__ float area() const override { return side * side; }
};

struct Triangle : Shape {
    float base, height;
    __device__ Triangle(float base, float height) : base(base), height(height) {}
    __device__ float area() const override { return 0.5f * base * height; }
};

// Objects on the device heap, called through their virtual tables; lanes diverge.
extern "C" __global__ void shapes(float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Shape *shape = i % 3 ? (Shape *)new Square(i) : (Shape *)new Triangle(i, 4);
    out[i] = shape->area();
    delete shape;
}

__device__ __noinline__ int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

extern "C" __global__ void fibonacci_numbers(int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = fibonacci(i % 14);
}

// Every activation has an array of its own, and passes its address on.
__device__ __noinline__ int collatz(int n, int depth, int *before)
{
    int own[3];
    own[depth % 3] = n;
    if (n == 1)
        return depth + (before ? *before : 0);
    int steps = n & 1 ? collatz(3 * n + 1, depth + 1, own + depth % 3) : collatz(n / 2, depth + 1, own + depth % 3);
    return own[depth % 3] == n ? steps : -1;
}

extern "C" __global__ void collatz_steps(int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = collatz(i + 1, 0, nullptr);
}

__device__ __noinline__ int ackermann(int m, int n)
{
    if (m == 0)
        return n + 1;
    return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

extern "C" __global__ void ackermann_values(int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = ackermann(i % 3, i % 7);
}

__device__ __noinline__ void quicksort(int *values, int low, int high)
{
    if (low >= high)
        return;
    int pivot = values[high], middle = low;
    for (int j = low; j < high; j++) {
        if (values[j] < pivot) {
            int swapped = values[middle];
            values[middle++] = values[j];
            values[j] = swapped;
        }
    }
    values[high] = values[middle];
    values[middle] = pivot;
    quicksort(values, low, middle - 1);
    quicksort(values, middle + 1, high);
}

extern "C" __global__ void sort(int *values, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    quicksort(values + i * count, 0, count - 1);
}

typedef int (*Operation)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ Operation operations[3] = {plus, minus, times};
__constant__ Operation constant_operations[2] = {times, minus};

extern "C" __global__ void through_tables(int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = operations[i % 3](i, 7) + constant_operations[i & 1](i, 5);
}

extern "C" __global__ void speak(int last)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= last)
        printf("%d of %s: %6.3f, %lld, %c, %5u%%\n", i, "them", i / 8.0, (long long)i << 40, 'a' + i, 100u - i);
    if (i == last)
        printf("done\n");
}

extern "C" __global__ void insist(int limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(i < limit);
}

// Allocates, fills, checks and frees; a sum of what was found wrong.
extern "C" __global__ void allocate(int *out, unsigned bytes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int wrong = 0;
    for (int round = 0; round < 4; round++) {
        unsigned char *memory = (unsigned char *)malloc(bytes + i);
        if (!memory) {
            wrong += 1000000;
            continue;
        }
        for (unsigned at = 0; at < bytes + i; at++)
            memory[at] = (unsigned char)(i + at);
        __syncwarp();
        for (unsigned at = 0; at < bytes + i; at++)
            wrong += memory[at] != (unsigned char)(i + at);
        free(memory);
    }
    out[i] = wrong;
}
