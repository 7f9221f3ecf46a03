// AVX-512 with VNNI.
#if defined(__x86_64__)
#define VARIANT avx512vnni
#define SIMD AVX512
#define DOT
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#endif
#include "../variant.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
