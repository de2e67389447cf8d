// Scans, sorts, reductions, histograms, graphs.

//: scan_shared grid=4 block=128 u32[512]=uniform(0,9,1) u32[512]=zero u32[4]=zero
extern "C" __global__ void scan_shared(const unsigned *in, unsigned *out, unsigned *sums)
{
    __shared__ unsigned t[2][128];
    int i = threadIdx.x, from = 0;
    t[0][i] = in[blockIdx.x * 128 + i];
    __syncthreads();
    for (int step = 1; step < 128; step *= 2) {
        t[1 - from][i] = t[from][i] + (i >= step ? t[from][i - step] : 0u);
        from = 1 - from;
        __syncthreads();
    }
    out[blockIdx.x * 128 + i] = t[from][i];
    if (i == 127) sums[blockIdx.x] = t[from][i];
}

//: scan_blelloch grid=2 block=64 s32[256]=uniform(0,9,1) s32[256]=zero
extern "C" __global__ void scan_blelloch(const int *in, int *out)
{
    __shared__ int t[128];
    int i = threadIdx.x, base = blockIdx.x * 128;
    t[2 * i] = in[base + 2 * i];
    t[2 * i + 1] = in[base + 2 * i + 1];
    int offset = 1;
    for (int d = 64; d > 0; d >>= 1) {
        __syncthreads();
        if (i < d) t[offset * (2 * i + 2) - 1] += t[offset * (2 * i + 1) - 1];
        offset *= 2;
    }
    if (i == 0) t[127] = 0;
    for (int d = 1; d < 128; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (i < d) {
            int a = offset * (2 * i + 1) - 1, b = offset * (2 * i + 2) - 1;
            int x = t[a];
            t[a] = t[b];
            t[b] += x;
        }
    }
    __syncthreads();
    out[base + 2 * i] = t[2 * i];
    out[base + 2 * i + 1] = t[2 * i + 1];
}

//: scan_shuffle grid=2 block=256 s32[512]=uniform(0,9,1) s32[512]=zero
extern "C" __global__ void scan_shuffle(const int *in, int *out)
{
    __shared__ int warp_sums[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int v = in[i];
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        int u = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= d) v += u;
    }
    if (lane == 31) warp_sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int s = lane < 8 ? warp_sums[lane] : 0;
#pragma unroll
        for (int d = 1; d < 8; d *= 2) {
            int u = __shfl_up_sync(0xffffffffu, s, d);
            if (lane >= d) s += u;
        }
        if (lane < 8) warp_sums[lane] = s;
    }
    __syncthreads();
    out[i] = v + (warp > 0 ? warp_sums[warp - 1] : 0);
}

//: scan_segmented grid=2 block=128 f32[256]=uniform(0,1,1) u8[256]=uniform(0,1,2) f32[256]=zero
extern "C" __global__ void scan_segmented(const float *in, const unsigned char *head, float *out)
{
    __shared__ float value[128];
    __shared__ int flag[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    value[t] = in[i];
    flag[t] = head[i];
    __syncthreads();
    for (int d = 1; d < 128; d <<= 1) {
        float v = value[t];
        int f = flag[t];
        if (t >= d && !f) {
            v += value[t - d];
            f = flag[t - d];
        }
        __syncthreads();
        value[t] = v;
        flag[t] = f;
        __syncthreads();
    }
    out[i] = value[t];
}

//: bitonic_step grid=4 block=128 u32[512]=uniform(0,100000,1) s32:8 s32:32
extern "C" __global__ void bitonic_step(unsigned *values, int j, int k)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, partner = i ^ j;
    if (partner > i) {
        unsigned a = values[i], b = values[partner];
        bool up = (i & k) == 0;
        if ((a > b) == up) {
            values[i] = b;
            values[partner] = a;
        }
    }
}

//: bitonic_shared grid=2 block=128 f32[512]=uniform(0,1,1)
extern "C" __global__ void bitonic_shared(float *values)
{
    __shared__ float s[256];
    int t = threadIdx.x;
    float *mine = values + blockIdx.x * 256;
    s[t] = mine[t];
    s[t + 128] = mine[t + 128];
    for (int size = 2; size <= 256; size <<= 1) {
        for (int stride = size >> 1; stride > 0; stride >>= 1) {
            __syncthreads();
            int p = 2 * t - (t & (stride - 1));
            bool up = (t & (size >> 1)) == 0;
            float a = s[p], b = s[p + stride];
            if ((a > b) == up) {
                s[p] = b;
                s[p + stride] = a;
            }
        }
    }
    __syncthreads();
    mine[t] = s[t];
    mine[t + 128] = s[t + 128];
}

//: radix_count grid=4 block=64 u32[1024]=uniform(0,4294967295,1) u32[64]=zero s32:8 s32:1024
extern "C" __global__ void radix_count(const unsigned *keys, unsigned *counts, int shift, int n)
{
    __shared__ unsigned bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&bins[(keys[i] >> shift) & 15], 1u);
    __syncthreads();
    if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = bins[threadIdx.x];
}

//: histogram_global grid=4 block=128 u8[4096]=uniform(0,255,1) u32[256]=zero s32:4096
extern "C" __global__ void histogram_global(const unsigned char *data, unsigned *bins, int n)
{
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) atomicAdd(&bins[data[i]], 1u);
}

//: histogram_packed grid=2 block=64 u32[1024]=uniform(0,4294967295,1) u32[256]=zero s32:1024
extern "C" __global__ void histogram_packed(const unsigned *data, unsigned *bins, int n)
{
    __shared__ unsigned s[2][256];
    for (int i = threadIdx.x; i < 512; i += blockDim.x) ((unsigned *)s)[i] = 0;
    __syncthreads();
    unsigned *mine = s[threadIdx.x / 32];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        unsigned v = data[i];
        atomicAdd(mine + (v & 255), 1u);
        atomicAdd(mine + (v >> 8 & 255), 1u);
        atomicAdd(mine + (v >> 16 & 255), 1u);
        atomicAdd(mine + (v >> 24), 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], s[0][i] + s[1][i]);
}

//: reduce_atomic grid=4 block=128 f32[2048]=uniform(0,1,1) f32[1]=zero s32:2048
extern "C" __global__ void reduce_atomic(const float *in, float *out, int n)
{
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += in[i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if ((threadIdx.x & 31) == 0) atomicAdd(out, sum);
}

template <int threads> __device__ void reduce_max(const double *in, double *out, int n)
{
    __shared__ double s[threads];
    double best = -1e300;
    for (int i = blockIdx.x * threads + threadIdx.x; i < n; i += threads * gridDim.x) best = fmax(best, in[i]);
    s[threadIdx.x] = best;
    __syncthreads();
#pragma unroll
    for (int d = threads / 2; d > 0; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] = fmax(s[threadIdx.x], s[threadIdx.x + d]);
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

//: reduce_max_double grid=2 block=128 f64[1024]=uniform(-5,5,1) f64[2]=zero s32:1024
extern "C" __global__ void reduce_max_double(const double *in, double *out, int n)
{
    reduce_max<128>(in, out, n);
}

//: dot_product grid=4 block=128 f64[1000]=uniform(0,1,1) f64[1000]=uniform(0,1,2) f64[1]=zero s64:1000
extern "C" __global__ void dot_product(const double *a, const double *b, double *out, long long n)
{
    __shared__ double part[4];
    double sum = 0;
    long long stride = (long long)blockDim.x * gridDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) sum += a[i] * b[i];
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        double total = 0;
        for (int k = 0; k < blockDim.x / 32; ++k) total += part[k];
        unsigned long long *address = (unsigned long long *)out, old = *address, seen;
        do {
            seen = old;
            old = atomicCAS(address, seen, __double_as_longlong(__longlong_as_double(seen) + total));
        } while (seen != old);
    }
}

//: compact grid=4 block=128 f32[512]=uniform(-1,1,1) f32[512]=zero u32[1]=zero s32:512
extern "C" __global__ void compact(const float *in, float *out, unsigned *count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool keep = i < n && in[i] > 0.0f;
    unsigned votes = __ballot_sync(0xffffffffu, keep);
    int lane = threadIdx.x & 31;
    unsigned base = 0;
    if (lane == 0) base = atomicAdd(count, __popc(votes));
    base = __shfl_sync(0xffffffffu, base, 0);
    if (keep) out[base + __popc(votes & ((1u << lane) - 1))] = in[i];
}

//: kmeans_assign grid=2 block=128 f32[2048]=uniform(0,1,1) f32[128]=uniform(0,1,2) s32[256]=zero s32:256 s32:16
extern "C" __global__ void kmeans_assign(const float *points, const float *centres, int *label, int n, int k)
{
    __shared__ float c[16 * 8];
    for (int j = threadIdx.x; j < k * 8; j += blockDim.x) c[j] = centres[j];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float best = 3.4e38f;
    int which = 0;
    for (int j = 0; j < k; ++j) {
        float d = 0;
#pragma unroll
        for (int a = 0; a < 8; ++a) {
            float e = points[a * n + i] - c[j * 8 + a];
            d += e * e;
        }
        if (d < best) {
            best = d;
            which = j;
        }
    }
    label[i] = which;
}

//: floyd_warshall grid=2,8 block=16,4 s32[1024]=uniform(1,100,1) s32:32 s32:5
extern "C" __global__ void floyd_warshall(int *d, int n, int k)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && j < n) {
        int through = d[i * n + k] + d[k * n + j];
        if (through < d[i * n + j]) d[i * n + j] = through;
    }
}

//: bfs_level grid=2 block=64 s32[129]=rows s32[1024]=uniform(0,127,1) s32[128]=uniform(0,9,2) s32[1]=zero s32:4 s32:128
extern "C" __global__ void bfs_level(const int *rows, const int *columns, int *level, int *changed, int now,
                                     int n)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || level[v] != now) return;
    for (int e = rows[v]; e < rows[v + 1]; ++e) {
        int u = columns[e];
        if (level[u] > now + 1) {
            level[u] = now + 1;
            *changed = 1;
        }
    }
}

//: spmv_scalar grid=2 block=64 s32[129]=rows s32[1024]=uniform(0,127,1) f32[1024]=uniform(0,1,2) f32[128]=uniform(0,1,3) f32[128]=zero s32:128
extern "C" __global__ void spmv_scalar(const int *__restrict__ rows, const int *__restrict__ columns,
                                       const float *__restrict__ values, const float *__restrict__ x, float *y,
                                       int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n) {
        float sum = 0;
        for (int k = rows[row]; k < rows[row + 1]; ++k) sum += values[k] * x[columns[k]];
        y[row] = sum;
    }
}

//: spmv_vector grid=32 block=128 s32[129]=rows s32[1024]=uniform(0,127,1) f64[1024]=uniform(0,1,2) f64[128]=uniform(0,1,3) f64[128]=zero s32:128
extern "C" __global__ void spmv_vector(const int *rows, const int *columns, const double *values,
                                       const double *x, double *y, int n)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= n) return;
    double sum = 0;
    for (int k = rows[row] + lane; k < rows[row + 1]; k += 32) sum += values[k] * x[columns[k]];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0) y[row] = sum;
}

//: binary_search grid=2 block=128 s32[1024]=iota s32[256]=uniform(-5,1030,1) s32[256]=zero s32:1024
extern "C" __global__ void binary_search(const int *sorted, const int *keys, int *found, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int key = keys[i], low = 0, high = n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (sorted[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    found[i] = low;
}

//: life grid=4,4 block=16,16 u8[4096]=uniform(0,1,1) u8[4096]=zero s32:64 s32:64
extern "C" __global__ void life(const unsigned char *in, unsigned char *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int left = (x + w - 1) % w, right = (x + 1) % w, up = (y + h - 1) % h, down = (y + 1) % h;
    int n = in[up * w + left] + in[up * w + x] + in[up * w + right] + in[y * w + left] + in[y * w + right] +
            in[down * w + left] + in[down * w + x] + in[down * w + right];
    out[y * w + x] = n == 3 || (n == 2 && in[y * w + x]);
}
