// AVX-512 with VNNI.
#if defined(__x86_64__)
#define VARIANT avx512vnni
#define SIMD AVX512
#define DOT
#define TARGET "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"
#include "../variant.h"
#endif
