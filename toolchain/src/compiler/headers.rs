//! Headers that ordinary CUDA files include and NVRTC does not have: it declares `printf`,
//! `assert` and the functions of mathematics itself, and has no integers of fixed width.

/// A header: its name, and its text.
pub(super) struct Header {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

/// A header whose declarations NVRTC has built in.
const fn built_in(name: &'static str) -> Header {
    Header { name, text: "" }
}

const INTEGERS: &str = "#pragma once
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned long uintptr_t;
typedef long intptr_t;
";

const FLOATS: &str = "#pragma once
#define FLT_MAX 3.402823466e+38F
#define FLT_MIN 1.175494351e-38F
#define FLT_EPSILON 1.192092896e-07F
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
";

const LIMITS: &str = "#pragma once
#define CHAR_BIT 8
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295U
#define LLONG_MAX 9223372036854775807LL
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX 18446744073709551615ULL
";

pub(super) const HEADERS: [Header; 19] = [
    built_in("assert.h"),
    built_in("cassert"),
    built_in("cmath"),
    built_in("cstddef"),
    built_in("cstdio"),
    built_in("cstdlib"),
    built_in("cuda_runtime.h"),
    built_in("cuda_runtime_api.h"),
    built_in("device_launch_parameters.h"),
    built_in("math.h"),
    built_in("stddef.h"),
    built_in("stdio.h"),
    built_in("stdlib.h"),
    Header { name: "cfloat", text: FLOATS },
    Header { name: "float.h", text: FLOATS },
    Header { name: "climits", text: LIMITS },
    Header { name: "limits.h", text: LIMITS },
    Header { name: "cstdint", text: INTEGERS },
    Header { name: "stdint.h", text: INTEGERS },
];
