#pragma once
// What device code uses of the standard library without asking for more than nvcc has: numbers,
// their limits, and traits of types. NVRTC has `std::move` and `std::forward` built in.
namespace std {

typedef decltype(sizeof(0)) size_t;
typedef decltype(static_cast<char *>(nullptr) - static_cast<char *>(nullptr)) ptrdiff_t;
typedef decltype(nullptr) nullptr_t;
using ::int8_t;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::intptr_t;
using ::uint8_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uintptr_t;

using ::abs;
using ::acos;
using ::acosh;
using ::asin;
using ::asinh;
using ::atan;
using ::atan2;
using ::atanh;
using ::cbrt;
using ::ceil;
using ::copysign;
using ::cos;
using ::cosh;
using ::erf;
using ::erfc;
using ::exp;
using ::exp2;
using ::expm1;
using ::fabs;
using ::fdim;
using ::floor;
using ::fma;
using ::fmax;
using ::fmin;
using ::fmod;
using ::frexp;
using ::hypot;
using ::ilogb;
using ::isfinite;
using ::isinf;
using ::isnan;
using ::ldexp;
using ::lgamma;
using ::llrint;
using ::llround;
using ::log;
using ::log10;
using ::log1p;
using ::log2;
using ::logb;
using ::lrint;
using ::lround;
using ::modf;
using ::nearbyint;
using ::nextafter;
using ::pow;
using ::remainder;
using ::rint;
using ::round;
using ::scalbn;
using ::signbit;
using ::sin;
using ::sinh;
using ::sqrt;
using ::tan;
using ::tanh;
using ::tgamma;
using ::trunc;

template <class T> __host__ __device__ constexpr const T &max(const T &a, const T &b) { return a < b ? b : a; }
template <class T> __host__ __device__ constexpr const T &min(const T &a, const T &b) { return b < a ? b : a; }
template <class T> __host__ __device__ inline void swap(T &a, T &b) {
    T t = a;
    a = b;
    b = t;
}

template <class T, T v> struct integral_constant {
    static constexpr T value = v;
    typedef T value_type;
    typedef integral_constant type;
    __host__ __device__ constexpr operator T() const { return v; }
    __host__ __device__ constexpr T operator()() const { return v; }
};
typedef integral_constant<bool, true> true_type;
typedef integral_constant<bool, false> false_type;
template <bool B> using bool_constant = integral_constant<bool, B>;

template <bool, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool, class T, class F> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
template <class T, class U> struct is_same : false_type {};
template <class T> struct is_same<T, T> : true_type {};
template <class T> struct remove_const { typedef T type; };
template <class T> struct remove_const<const T> { typedef T type; };
template <class T> struct remove_volatile { typedef T type; };
template <class T> struct remove_volatile<volatile T> { typedef T type; };
template <class T> struct remove_cv { typedef typename remove_volatile<typename remove_const<T>::type>::type type; };
template <class T> struct remove_reference { typedef T type; };
template <class T> struct remove_reference<T &> { typedef T type; };
template <class T> struct remove_reference<T &&> { typedef T type; };
template <class T> struct remove_pointer { typedef T type; };
template <class T> struct remove_pointer<T *> { typedef T type; };
template <class T> struct is_integral : bool_constant<gpucast::integer<typename remove_cv<T>::type>::value> {};
template <class T> struct is_floating_point
    : bool_constant<is_same<typename remove_cv<T>::type, float>::value || is_same<typename remove_cv<T>::type, double>::value> {};
template <class T> struct is_arithmetic : bool_constant<is_integral<T>::value || is_floating_point<T>::value> {};
template <class T, bool = is_arithmetic<T>::value> struct is_signed : false_type {};
template <class T> struct is_signed<T, true> : bool_constant<(T(-1) < T(0))> {};
template <class T> struct is_unsigned : bool_constant<is_arithmetic<T>::value && !is_signed<T>::value> {};
template <class T> struct is_pointer : false_type {};
template <class T> struct is_pointer<T *> : true_type {};
template <class T> struct is_void : is_same<typename remove_cv<T>::type, void> {};

template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class T, class F> using conditional_t = typename conditional<B, T, F>::type;
template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> using remove_reference_t = typename remove_reference<T>::type;
#if __cplusplus >= 201703L
template <class T, class U> inline constexpr bool is_same_v = is_same<T, U>::value;
template <class T> inline constexpr bool is_arithmetic_v = is_arithmetic<T>::value;
template <class T> inline constexpr bool is_floating_point_v = is_floating_point<T>::value;
template <class T> inline constexpr bool is_integral_v = is_integral<T>::value;
template <class T> inline constexpr bool is_signed_v = is_signed<T>::value;
template <class T> inline constexpr bool is_unsigned_v = is_unsigned<T>::value;
#endif

}  // namespace std

namespace gpucast {

template <class T> struct integer_limits {
    static constexpr bool is_specialized = true, is_integer = true, is_exact = true;
    static constexpr bool has_infinity = false, has_quiet_NaN = false;
    static constexpr bool is_signed = static_cast<T>(-1) < static_cast<T>(0);
    static constexpr int digits = static_cast<int>(sizeof(T)) * 8 - is_signed, radix = 2;
    __host__ __device__ static constexpr T max() {
        return static_cast<T>(((static_cast<T>(1) << (digits - 1)) - 1) * 2 + 1);
    }
    __host__ __device__ static constexpr T min() { return is_signed ? static_cast<T>(-max() - 1) : static_cast<T>(0); }
    __host__ __device__ static constexpr T lowest() { return min(); }
    __host__ __device__ static constexpr T epsilon() { return 0; }
    __host__ __device__ static constexpr T infinity() { return 0; }
    __host__ __device__ static constexpr T quiet_NaN() { return 0; }
};

template <class T> struct floating_limits {
    static constexpr bool is_specialized = true, is_integer = false, is_exact = false;
    static constexpr bool has_infinity = true, has_quiet_NaN = true, is_signed = true;
    static constexpr int digits = sizeof(T) == 4 ? 24 : 53, radix = 2;
    __host__ __device__ static constexpr T max() { return static_cast<T>(sizeof(T) == 4 ? FLT_MAX : DBL_MAX); }
    __host__ __device__ static constexpr T min() { return static_cast<T>(sizeof(T) == 4 ? FLT_MIN : DBL_MIN); }
    __host__ __device__ static constexpr T lowest() { return -max(); }
    __host__ __device__ static constexpr T epsilon() { return static_cast<T>(sizeof(T) == 4 ? FLT_EPSILON : DBL_EPSILON); }
    // NVRTC has no constant for these two.
    __device__ static T infinity() { return static_cast<T>(__int_as_float(0x7f800000)); }
    __device__ static T quiet_NaN() { return static_cast<T>(__int_as_float(0x7fc00000)); }
};

}  // namespace gpucast

namespace std {

template <class T> struct numeric_limits { static constexpr bool is_specialized = false; };
template <> struct numeric_limits<char> : gpucast::integer_limits<char> {};
template <> struct numeric_limits<signed char> : gpucast::integer_limits<signed char> {};
template <> struct numeric_limits<unsigned char> : gpucast::integer_limits<unsigned char> {};
template <> struct numeric_limits<short> : gpucast::integer_limits<short> {};
template <> struct numeric_limits<unsigned short> : gpucast::integer_limits<unsigned short> {};
template <> struct numeric_limits<int> : gpucast::integer_limits<int> {};
template <> struct numeric_limits<unsigned int> : gpucast::integer_limits<unsigned int> {};
template <> struct numeric_limits<long> : gpucast::integer_limits<long> {};
template <> struct numeric_limits<unsigned long> : gpucast::integer_limits<unsigned long> {};
template <> struct numeric_limits<long long> : gpucast::integer_limits<long long> {};
template <> struct numeric_limits<unsigned long long> : gpucast::integer_limits<unsigned long long> {};
template <> struct numeric_limits<float> : gpucast::floating_limits<float> {};
template <> struct numeric_limits<double> : gpucast::floating_limits<double> {};

}  // namespace std
