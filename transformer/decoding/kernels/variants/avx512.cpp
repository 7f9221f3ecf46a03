// AVX-512.
#if defined(__x86_64__)
#define VARIANT avx512
#define SIMD AVX512
#define TARGET "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl"
#include "../variant.h"
#endif
