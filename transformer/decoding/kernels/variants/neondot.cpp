// NEON with products of bytes in fours.
#if defined(__aarch64__)
#define VARIANT neondot
#define SIMD NEON
#define DOT
#ifdef __clang__
#define TARGET "dotprod"
#else
#define TARGET "arch=armv8.2-a+dotprod"
#endif
#include "../variant.h"
#endif
