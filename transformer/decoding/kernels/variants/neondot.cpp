// NEON with products of bytes in fours.
#if defined(__aarch64__)
#define VARIANT neondot
#define SIMD NEON
#define DOT
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("dotprod"))), apply_to = function)
#else
#pragma GCC target("arch=armv8.2-a+dotprod")
#endif
#include "../variant.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
