// The tables of functions that each instruction set provides: one for int8 and one for float32.
//
// `variant.h` fills it, once for each instruction set; `choose` returns the best that runs here.
//
// Shapes: R rows, D_in and D_out widths of a map, C channels of a head, P positions, V vocabulary.

#pragma once

#include <cstdint>

constexpr int64_t VECTOR = 16;  // positions whose keys lie side by side
constexpr int64_t SPARE = 32;   // rows that a product may read beyond the last one

// Whether the compiler knows the instructions of processors of 2020.
#define LATE (__GNUC__ >= 11 || __clang_major__ >= 12)

enum class After { NOTHING, ADD, RELU, GELU };

// y = W x + b. Weights in panels of output channels (D_out / panel, D_in, panel); in int8 four
// inputs side by side (D_out / panel, D_in / 4, panel, 4), with the scale of each output channel
// and what the offset of the inputs adds to its sums.
struct Linear {
    void* weight;
    float *scale, *bias;
    int32_t* offset;
    int64_t n_in, n_out;  // whole panels
};

struct Norm {
    float *weight, *bias;
};

// Rows as a product reads them; in int8 each quantised by itself, so that its result does not
// depend on the rows beside it. They lie `stride` numbers apart, no power of two, which would put
// all rows in the same corner of the cache.
struct Rows {
    void* values;
    float* scales;
    int64_t stride;
};

struct Kernels {
    int64_t panel;        // output channels computed at once
    int64_t number_size;  // bytes of a weight and of an input
    int64_t cache_size;   // bytes of a number of keys and values

    // Weights (n_out, D_in) become the output channels from `start` on.
    void (*pack)(const float* weight, int64_t n_out, int64_t start, const Linear&);
    void (*read)(const float* x, int64_t n_rows, int64_t width, const Rows& to);
    // Panels begin ... end - 1 of the product of all rows, into y (R, D_out); where asked, the
    // highest output of each panel into `highest` (R, D_out / panel).
    void (*multiply)(const Linear&, const Rows&, int64_t n_rows, int64_t begin, int64_t end,
                     After, float* y, float* highest);
    // Of those panels only the highest output of each row, from channel n_never on.
    void (*best)(const Linear&, const Rows&, int64_t n_rows, int64_t begin, int64_t end,
                 int64_t n_never, int32_t* best, float* highest);
    void (*normalise)(const Norm&, const float* x, int64_t n_rows, int64_t width, float* y);
    // One position of one head: keys (P / VECTOR, C, VECTOR), values (P, C).
    void (*remember)(const float* key, const float* value, int64_t channels, int64_t position,
                     void* keys, void* values);
    // softmax(query keys) values over the first n positions; where asked, adds each one's share
    // times `factor` to `looked` (n,).
    void (*attend)(const float* query, const void* keys, const void* values, int64_t n,
                   int64_t channels, float* out, float* weights, float* looked, float factor);
    // log(sum(exp(logits - highest))) of n logits.
    float (*log_sum)(const float* logits, int64_t n, float highest);
};

struct Variant {
    const char* name;
    Kernels int8, float32;
};

// The variant of that name, or the best one for no name; null where this processor lacks it.
const Variant* choose(const char* name);
