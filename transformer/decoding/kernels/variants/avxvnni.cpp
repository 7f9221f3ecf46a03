// AVX2 with VNNI.
#include "../kernels.h"
#if defined(__x86_64__) && LATE
#define VARIANT avxvnni
#define SIMD AVX2
#define DOT
#define TARGET "avx2,fma,f16c,avxvnni"
#include "../variant.h"
#endif
