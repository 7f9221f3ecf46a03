// The kernels of one instruction set, which the file in variants/ that includes this one chooses.
//
// All that is compiled here stays in this file, and no template of the standard library is used:
// the linker would keep one copy of it, which another processor might not run.

#ifndef MATRIX_UNIT
#define MATRIX_UNIT 0
#endif
#define PRAGMA_OF(...) _Pragma(#__VA_ARGS__)
#define PRAGMA(...) PRAGMA_OF(__VA_ARGS__)
#if defined(TARGET) && defined(__clang__)
PRAGMA(clang attribute push(__attribute__((target(TARGET))), apply_to = function))
#elif defined(TARGET)
PRAGMA(GCC target(TARGET))
#endif
#include "attention.h"
#include "products.h"

namespace {

template <class Type>
constexpr Kernels table() {
    return {
        PANEL,
        sizeof(typename Type::Weight),
        sizeof(typename Type::Cache),
        [](const float* weight, int64_t n_out, int64_t start, const Linear& map) {
            pack(Type(), weight, n_out, start, map);
        },
        [](const float* x, int64_t n_rows, int64_t width, const Rows& to) {
            read(Type(), x, n_rows, width, to);
        },
        multiply<Type>,
        best<Type>,
        normalise,
        remember<typename Type::Cache>,
        attend<typename Type::Cache>,
        log_sum,
    };
}

}  // namespace

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
extern const Variant VARIANT;
const Variant VARIANT = {TEXT(VARIANT), table<Int8>(), table<Float32>()};
#if defined(TARGET) && defined(__clang__)
#pragma clang attribute pop
#endif
