// Rotary embedding in place, half-split: element i of the first half of a head and element i of the second half are
// turned by the angle position / base^(2i / D). Heads are rows of D = 128 bf16: x is [tokens][heads][D].
//
// cos and sin are [positions][D / 2] in f32, made once for a model. A thread turns eight pairs; sixteen bytes of each
// half. A block has the heads of one token, grid (tokens): block (D / 16, heads of a round).

using u16 = unsigned short;  // the bits of a bf16
using u32 = unsigned;

constexpr int D = 128;
constexpr int PAIRS = 8;  // of a thread

__device__ void unpack(float (&x)[8], uint4 bits)
{
    const u32 words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        x[2 * i] = __uint_as_float(words[i] << 16);
        x[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000);
    }
}

__device__ uint4 pack(const float (&x)[8])
{
    u32 words[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(words[i]) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
    return make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ void load(float (&x)[8], const float *from)
{
    const float4 low = reinterpret_cast<const float4 *>(from)[0];
    const float4 high = reinterpret_cast<const float4 *>(from)[1];
    x[0] = low.x, x[1] = low.y, x[2] = low.z, x[3] = low.w;
    x[4] = high.x, x[5] = high.y, x[6] = high.z, x[7] = high.w;
}

extern "C" __global__ void rotary(u16 *x, const float *cosines, const float *sines, const int *positions, int heads)
{
    const int first = threadIdx.x * PAIRS;
    const size_t angle = size_t(positions[blockIdx.x]) * (D / 2) + first;
    float c[PAIRS];
    float s[PAIRS];
    load(c, cosines + angle);
    load(s, sines + angle);

    for (int head = threadIdx.y; head < heads; head += blockDim.y) {
        u16 *const row = x + (size_t(blockIdx.x) * heads + head) * D + first;
        uint4 *const low = reinterpret_cast<uint4 *>(row);
        uint4 *const high = reinterpret_cast<uint4 *>(row + D / 2);
        float a[PAIRS];
        float b[PAIRS];
        unpack(a, *low);
        unpack(b, *high);
#pragma unroll
        for (int i = 0; i < PAIRS; i++) {
            const float turned = a[i] * c[i] - b[i] * s[i];
            b[i] = b[i] * c[i] + a[i] * s[i];
            a[i] = turned;
        }
        *low = pack(a);
        *high = pack(b);
    }
}
