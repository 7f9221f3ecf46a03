// NEON, which each 64-bit ARM processor has.
#if defined(__aarch64__)
#define VARIANT neon
#define SIMD NEON
#include "../variant.h"
#endif
