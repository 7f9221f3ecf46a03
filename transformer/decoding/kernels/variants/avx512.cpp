// AVX-512.
#if defined(__x86_64__)
#define VARIANT avx512
#define SIMD AVX512
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")
#endif
#include "../variant.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
