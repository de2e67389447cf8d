#pragma once
// The functions of mathematics on integers, and on numbers of two types, as C++ declares them:
// integers become double, and the result of float and double is double. NVRTC declares float and
// double alone. Its own functions are preferred where their types are the very ones.
namespace gpucast {

template <bool, class T = void> struct enabled {};
template <class T> struct enabled<true, T> { typedef T type; };

template <class T> struct integer { static constexpr bool value = false; };
template <> struct integer<bool> { static constexpr bool value = true; };
template <> struct integer<char> { static constexpr bool value = true; };
template <> struct integer<signed char> { static constexpr bool value = true; };
template <> struct integer<unsigned char> { static constexpr bool value = true; };
template <> struct integer<short> { static constexpr bool value = true; };
template <> struct integer<unsigned short> { static constexpr bool value = true; };
template <> struct integer<int> { static constexpr bool value = true; };
template <> struct integer<unsigned int> { static constexpr bool value = true; };
template <> struct integer<long> { static constexpr bool value = true; };
template <> struct integer<unsigned long> { static constexpr bool value = true; };
template <> struct integer<long long> { static constexpr bool value = true; };
template <> struct integer<unsigned long long> { static constexpr bool value = true; };

template <class T, bool = integer<T>::value> struct promoted {};
template <class T> struct promoted<T, true> { typedef double type; };
template <> struct promoted<float, false> { typedef float type; };
template <> struct promoted<double, false> { typedef double type; };

template <class T, class U, class P = typename promoted<T>::type, class Q = typename promoted<U>::type>
struct both { typedef decltype(P() + Q()) type; };

}  // namespace gpucast

#define GPUCAST_OF_INTEGER(result, name) \
    template <class T> \
    __device__ inline typename gpucast::enabled<gpucast::integer<T>::value, result>::type name(T x) { \
        return name(static_cast<double>(x)); \
    }
#define GPUCAST_OF_TWO(name) \
    template <class T, class U> \
    __device__ inline typename gpucast::both<T, U>::type name(T x, U y) { \
        typedef typename gpucast::both<T, U>::type both; \
        return name(static_cast<both>(x), static_cast<both>(y)); \
    }

GPUCAST_OF_INTEGER(double, acos)
GPUCAST_OF_INTEGER(double, acosh)
GPUCAST_OF_INTEGER(double, asin)
GPUCAST_OF_INTEGER(double, asinh)
GPUCAST_OF_INTEGER(double, atan)
GPUCAST_OF_INTEGER(double, atanh)
GPUCAST_OF_INTEGER(double, cbrt)
GPUCAST_OF_INTEGER(double, ceil)
GPUCAST_OF_INTEGER(double, cos)
GPUCAST_OF_INTEGER(double, cosh)
GPUCAST_OF_INTEGER(double, erf)
GPUCAST_OF_INTEGER(double, erfc)
GPUCAST_OF_INTEGER(double, exp)
GPUCAST_OF_INTEGER(double, exp2)
GPUCAST_OF_INTEGER(double, expm1)
GPUCAST_OF_INTEGER(double, fabs)
GPUCAST_OF_INTEGER(double, floor)
GPUCAST_OF_INTEGER(double, lgamma)
GPUCAST_OF_INTEGER(double, log)
GPUCAST_OF_INTEGER(double, log10)
GPUCAST_OF_INTEGER(double, log1p)
GPUCAST_OF_INTEGER(double, log2)
GPUCAST_OF_INTEGER(double, logb)
GPUCAST_OF_INTEGER(double, nearbyint)
GPUCAST_OF_INTEGER(double, rint)
GPUCAST_OF_INTEGER(double, round)
GPUCAST_OF_INTEGER(double, sin)
GPUCAST_OF_INTEGER(double, sinh)
GPUCAST_OF_INTEGER(double, sqrt)
GPUCAST_OF_INTEGER(double, tan)
GPUCAST_OF_INTEGER(double, tanh)
GPUCAST_OF_INTEGER(double, tgamma)
GPUCAST_OF_INTEGER(double, trunc)
GPUCAST_OF_INTEGER(int, ilogb)
GPUCAST_OF_INTEGER(long, lrint)
GPUCAST_OF_INTEGER(long, lround)
GPUCAST_OF_INTEGER(long long, llrint)
GPUCAST_OF_INTEGER(long long, llround)
GPUCAST_OF_INTEGER(bool, isfinite)
GPUCAST_OF_INTEGER(bool, isinf)
GPUCAST_OF_INTEGER(bool, isnan)
GPUCAST_OF_INTEGER(bool, signbit)

GPUCAST_OF_TWO(atan2)
GPUCAST_OF_TWO(copysign)
GPUCAST_OF_TWO(fdim)
GPUCAST_OF_TWO(fmax)
GPUCAST_OF_TWO(fmin)
GPUCAST_OF_TWO(fmod)
GPUCAST_OF_TWO(hypot)
GPUCAST_OF_TWO(nextafter)
GPUCAST_OF_TWO(pow)
GPUCAST_OF_TWO(remainder)

template <class T, class U, class V>
__device__ inline typename gpucast::both<typename gpucast::both<T, U>::type, V>::type fma(T x, U y, V z) {
    typedef typename gpucast::both<typename gpucast::both<T, U>::type, V>::type all;
    return fma(static_cast<all>(x), static_cast<all>(y), static_cast<all>(z));
}

#undef GPUCAST_OF_INTEGER
#undef GPUCAST_OF_TWO
