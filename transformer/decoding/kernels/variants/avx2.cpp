// AVX2, with FMA and F16C, which came with it.
#if defined(__x86_64__)
#define VARIANT avx2
#define SIMD AVX2
#define TARGET "avx2,fma,f16c"
#include "../variant.h"
#endif
