// AVX2, with FMA and F16C, which came with it.
#if defined(__x86_64__)
#define VARIANT avx2
#define SIMD AVX2
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c")
#endif
#include "../variant.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
