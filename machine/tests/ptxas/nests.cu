// Nests of loops with early ways out, and loops that the assembler unrolls into several versions.

extern "C" __global__ void kmeans(const float* points, const float* centres, int* nearest, int count, int clusters, int features) {
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= count) return;
    int best = -1;
    float least = 3.4e38f;
    for (int cluster = 0; cluster < clusters; cluster++) {
        float distance = 0.0f;
        for (int feature = 0; feature < features; feature++) {
            float d = points[feature * count + point] - centres[cluster * features + feature];
            distance += d * d;
        }
        if (distance < least) { least = distance; best = cluster; }
    }
    nearest[point] = best;
}

extern "C" __global__ void breaks(const float* in, float* out, int outer, int inner, float limit) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float total = 0.0f;
    for (int i = 0; i < outer; i++) {
        float sum = 0.0f;
        int j = 0;
        for (; j < inner; j++) {
            float v = in[i * inner + j];
            if (v * (float)(t + 1) > limit) break;
            sum += v;
        }
        total += sum * 0.5f + (float)j;
    }
    out[t] = total;
}

extern "C" __global__ void early_exit(const int* in, int* out, int outer, int inner) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int found = 0;
    for (int i = 0; i < outer; i++) {
        for (int j = 0; j < inner; j++) {
            if (in[i * inner + j] == t) { out[t] = -1; return; }
            found += in[j] ^ t;
        }
        found *= 3;
    }
    out[t] = found;
}

extern "C" __global__ void remainder_loop(const float* in, float* out, int count) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a = 0.0f, b = 1.0f;
    for (int i = 0; i < count; i++) {
        float v = in[i * 32 + (t & 31)];
        a += v * v;
        b = b * v + a;
    }
    out[t] = a + b;
}

extern "C" __global__ void choices(const int* in, int* out, int count) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int state = t, sum = 0;
    for (int i = 0; i < count; i++) {
        int v = in[i];
        switch ((v + t) & 3) {
            case 0: state = state * 3 + 1; break;
            case 1: state ^= v; sum += state % 7; break;
            case 2: for (int j = 0; j < (v & 7); j++) sum += in[j] * state; break;
            default: sum = min(min(sum, state), v); break;
        }
    }
    out[t] = sum + state;
}
