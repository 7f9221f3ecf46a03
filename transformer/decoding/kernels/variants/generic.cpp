// Any 64-bit processor.
#define VARIANT generic
#define SIMD GENERIC
#include "../variant.h"
