// AVX-512 with VNNI and the matrix unit.
#include "../kernels.h"
#if defined(__x86_64__) && LATE
#define VARIANT amx
#define SIMD AVX512
#define DOT
#define MATRIX_UNIT 1
#define TARGET "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,amx-tile,amx-int8"
#include "../variant.h"
#endif
