// AVX2 with VNNI.
#include "../kernels.h"
#if defined(__x86_64__) && LATE
#define VARIANT avxvnni
#define SIMD AVX2
#define DOT
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,avxvnni"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c,avxvnni")
#endif
#include "../variant.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
