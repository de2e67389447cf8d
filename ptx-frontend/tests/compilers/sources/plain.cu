// Compiles without any header, for clang's `-nocudainc`.
#define GLOBAL __attribute__((global))
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
#define CONSTANT __attribute__((constant))

CONSTANT float coefficients[4] = {0.25f, 0.5f, 1.0f, 2.0f};
DEVICE int total;
DEVICE int *where = &total;

struct Pair {
    float key;
    int value;
};

DEVICE int thread() {
    return __nvvm_read_ptx_sreg_tid_x()
        + __nvvm_read_ptx_sreg_ntid_x() * __nvvm_read_ptx_sreg_ctaid_x();
}

DEVICE __attribute__((noinline)) Pair larger(Pair a, Pair b) {
    return a.key < b.key ? b : a;
}

DEVICE __attribute__((noinline)) int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

DEVICE int twice(int x) { return 2 * x; }
DEVICE int square(int x) { return x * x; }

extern "C" GLOBAL void reduce(const float *in, Pair *out, int n) {
    SHARED Pair tile[128];
    int lane = __nvvm_read_ptx_sreg_tid_x();
    Pair best = {-1e30f, -1};
    for (int i = thread(); i < n; i += 128 * 16) {
        Pair next = {in[i] * coefficients[i & 3], i};
        best = larger(best, next);
    }
    tile[lane] = best;
    __syncthreads();
    for (int step = 64; step > 0; step >>= 1) {
        if (lane < step) tile[lane] = larger(tile[lane], tile[lane + step]);
        __syncthreads();
    }
    if (lane == 0) out[__nvvm_read_ptx_sreg_ctaid_x()] = tile[0];
}

extern "C" GLOBAL void integers(long long *x, unsigned *y, short *z, signed char *w, int n) {
    int i = thread();
    if (i >= n) return;
    switch (y[i] % 7) {
    case 0: x[i] = x[i] / 3; break;
    case 1: x[i] = x[i] >> (y[i] & 63); break;
    case 2: x[i] = __builtin_popcountll(x[i]); break;
    case 3: x[i] = (long long)y[i] * z[i]; break;
    case 4: y[i] = __builtin_clz(y[i] | 1); break;
    case 5: w[i] = (signed char)(z[i] << 2); break;
    default: y[i] = (y[i] << 7) | (y[i] >> 25);
    }
    __nvvm_atom_add_gen_i(where, ackermann(2, i & 3));
}

extern "C" GLOBAL void floating(double *d, float *f, int *chosen, int n) {
    int i = thread();
    int (*functions[2])(int) = {twice, square};
    if (i >= n) return;
    d[i] = d[i] / (1.0 + f[i]) + __builtin_fabs(d[i + n]);
    f[i] = __builtin_sqrtf(f[i]) + __builtin_fmaf(f[i], 3.0f, (float)d[i]);
    chosen[i] = functions[chosen[i] & 1]((int)f[i]);
}
