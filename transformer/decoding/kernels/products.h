// Products of rows with packed weights, in int8 and in float32.
//
// int8: weights have 8 bits and a scale for each output channel. Inputs are integers around ZERO.
// Where bytes are multiplied in fours they have 8 bits; in AVX2 and AVX-512 without that, products
// are added in pairs in 16 bits, and 7 bits keep those sums exact.

#pragma once

#include "kernels.h"
#include "simd.h"

namespace {

constexpr int TILE = SIMD == AVX512 && ZERO == 128 ? 6 : 5;  // rows computed at once: their sums
                                                             // just fit the registers
constexpr int VECTORS = SIMD == AVX512 || SIMD <= NEON ? 4 : 2;  // of a panel
constexpr int PANEL = VECTORS * LANES;                           // output channels computed at once
constexpr int MATRIX = 32;  // rows computed at once by the matrix unit (AMX), in two halves
constexpr int BLOCK = 240;  // rows of bytes that stay in the second-level cache

// The differences between the two kinds of product.
struct Int8 {
    using Weight = int8_t;
    using Input = uint8_t;
    using Sum = int32_t;
    using Cache = uint16_t;  // halves
    using Vector = Integers;
    static constexpr int DEEP = 4;  // inputs that are multiplied and added up at once
    static Vector weight(const int8_t* x) { return load_bytes(x); }
    static Vector input(const uint8_t* x) {
        int32_t four;
        std::memcpy(&four, x, 4);
        return spread(four);
    }
    static Vector add(Vector sum, Vector x, Vector y) { return add_products(sum, x, y); }
    static Floats output(const Linear& map, float scale, int64_t n, Integers sum) {
        const Floats steps = numbers(minus(sum, load(map.offset + n)));
        return multiply_add(steps, spread(scale) * load(map.scale + n), load(map.bias + n));
    }
};

struct Float32 {
    using Weight = float;
    using Input = float;
    using Sum = float;
    using Cache = float;
    using Vector = Floats;
    static constexpr int DEEP = 1;
    static Vector weight(const float* x) { return load(x); }
    static Vector input(const float* x) { return spread(*x); }
    static Vector add(Vector sum, Vector x, Vector y) { return multiply_add(x, y, sum); }
    static Floats output(const Linear& map, float, int64_t n, Floats sum) {
        return sum + load(map.bias + n);
    }
};

// N rows times one panel. Unrolled early, or GCC keeps the sums in memory, at half the speed.
template <class Type, int N>
void tile(const typename Type::Input* rows, int64_t stride, int64_t n_in,
          const typename Type::Weight* panel, typename Type::Sum* sums) {
    typename Type::Vector sum[N][VECTORS] = {};
    for (int64_t k = 0; k < n_in; k += Type::DEEP) {
        typename Type::Vector weight[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; ++v)
            weight[v] = Type::weight(panel + k * PANEL + v * Type::DEEP * LANES);
#pragma GCC unroll 6
        for (int r = 0; r < N; ++r) {
            const typename Type::Vector input = Type::input(rows + r * stride + k);
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; ++v) sum[r][v] = Type::add(sum[r][v], input, weight[v]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < N; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; ++v) store(sums + r * PANEL + v * LANES, sum[r][v]);
}

template <class Type>
using Multiply = void(int, const typename Type::Input*, int64_t, int64_t,
                      const typename Type::Weight*, typename Type::Sum*);

// 1 ... N rows times one panel.
template <class Type, int N = TILE>
void vector_tile(int n, const typename Type::Input* rows, int64_t stride, int64_t n_in,
                 const typename Type::Weight* panel, typename Type::Sum* sums) {
    if constexpr (N > 1)
        if (n < N) return vector_tile<Type, N - 1>(n, rows, stride, n_in, panel, sums);
    tile<Type, N>(rows, stride, n_in, panel, sums);
}

#if MATRIX_UNIT
// While an object exists, its thread has eight matrix registers of 16 rows of 64 bytes.
struct MatrixRegisters {
    const bool used;
    explicit MatrixRegisters(bool wanted) : used(wanted) {
        if (!used) return;
        struct {
            uint8_t palette = 1, start = 0, none[14] = {};
            uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
            uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
        } shape;
        _tile_loadconfig(&shape);
    }
    ~MatrixRegisters() {
        if (used) _tile_release();
    }
};

// Up to 32 rows times one panel, as `vector_tile`; what lies behind the rows is computed with them.
void matrix_tile(int n, const uint8_t* rows, int64_t stride, int64_t n_in, const int8_t* panel,
                 int32_t* sums) {
    constexpr int LINE = 4 * PANEL;  // bytes between four inputs and the next, in weights and sums
    const uint8_t* lower = rows + 16 * stride;
    if (n <= 16) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        for (int64_t k = 0; k < n_in; k += 64) {
            const int8_t* weight = panel + k * PANEL;
            _tile_loadd(4, rows + k, stride);
            _tile_loadd(5, weight, LINE);
            _tile_dpbusd(0, 4, 5);
            _tile_loadd(6, weight + 64, LINE);
            _tile_dpbusd(1, 4, 6);
            _tile_loadd(5, weight + 128, LINE);
            _tile_dpbusd(2, 4, 5);
            _tile_loadd(6, weight + 192, LINE);
            _tile_dpbusd(3, 4, 6);
        }
        _tile_stored(0, sums, LINE);
        _tile_stored(1, sums + 16, LINE);
        _tile_stored(2, sums + 32, LINE);
        _tile_stored(3, sums + 48, LINE);
        return;
    }
    for (int half = 0; half < PANEL; half += 32) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        for (int64_t k = 0; k < n_in; k += 64) {
            const int8_t* weight = panel + k * PANEL + half * 4;
            _tile_loadd(4, rows + k, stride);
            _tile_loadd(6, weight, LINE);
            _tile_dpbusd(0, 4, 6);
            _tile_loadd(7, weight + 64, LINE);
            _tile_dpbusd(1, 4, 7);
            _tile_loadd(5, lower + k, stride);
            _tile_dpbusd(2, 5, 6);
            _tile_dpbusd(3, 5, 7);
        }
        _tile_stored(0, sums + half, LINE);
        _tile_stored(1, sums + half + 16, LINE);
        _tile_stored(2, sums + 16 * PANEL + half, LINE);
        _tile_stored(3, sums + 16 * PANEL + half + 16, LINE);
    }
}
#else
struct MatrixRegisters {
    explicit MatrixRegisters(bool) {}
};
#endif

// Returns the function that multiplies this many rows, and how many it computes at once.
template <class Type>
Multiply<Type>* multiplication(int64_t, int64_t& at_once) {
    at_once = TILE;
    return vector_tile<Type>;
}
#if MATRIX_UNIT
template <>
Multiply<Int8>* multiplication<Int8>(int64_t n_rows, int64_t& at_once) {
    at_once = n_rows > TILE ? MATRIX : TILE;
    return n_rows > TILE ? matrix_tile : vector_tile<Int8>;
}
#endif

// Calls use(row, first channel, outputs) for every row and every panel from `begin` to `end`.
template <class Type, class Use>
void for_each_panel(const Linear& map, const Rows& x, int64_t n_rows, int64_t begin, int64_t end,
                    Use use) {
    constexpr int64_t N_BLOCK = BLOCK / sizeof(typename Type::Input);
    const auto* inputs = static_cast<const typename Type::Input*>(x.values);
    const auto* weights = static_cast<const typename Type::Weight*>(map.weight);
    int64_t at_once;
    Multiply<Type>* const multiply = multiplication<Type>(n_rows, at_once);
    const MatrixRegisters registers(at_once == MATRIX);
    alignas(64) typename Type::Sum sums[MATRIX * PANEL];
    Floats out[VECTORS];
    for (int64_t block = 0; block < n_rows; block += N_BLOCK) {
        const int64_t last = n_rows < block + N_BLOCK ? n_rows : block + N_BLOCK;
        for (int64_t n = begin * PANEL; n < end * PANEL; n += PANEL)
            for (int64_t r = block; r < last; r += at_once) {
                const int count = static_cast<int>(last - r < at_once ? last - r : at_once);
                multiply(count, inputs + r * x.stride, x.stride, map.n_in, weights + n * map.n_in,
                         sums);
                for (int i = 0; i < count; ++i) {
                    for (int v = 0; v < VECTORS; ++v)
                        out[v] = Type::output(map, x.scales[r + i], n + v * LANES,
                                              load(sums + i * PANEL + v * LANES));
                    use(r + i, n, out);
                }
            }
    }
}

inline Floats highest_of(const Floats* panel) {
    Floats most = panel[0];
    for (int v = 1; v < VECTORS; ++v) most = larger(most, panel[v]);
    return most;
}

inline void gelu(float* x) {
    for (int j = 0; j < PANEL; ++j) x[j] = 0.5f * x[j] * (1 + std::erf(x[j] * 0.70710678f));
}

template <class Type>
void multiply(const Linear& map, const Rows& x, int64_t n_rows, int64_t begin, int64_t end,
              After after, float* y, float* highest) {
    for_each_panel<Type>(map, x, n_rows, begin, end, [&](int64_t r, int64_t n, const Floats* out) {
        float* to = y + r * map.n_out + n;
        for (int v = 0; v < VECTORS; ++v) {
            Floats value = out[v];
            if (after == After::ADD) value = load(to + v * LANES) + value;
            if (after == After::RELU) value = larger(spread(0.0f), value);
            store(to + v * LANES, value);
        }
        if (after == After::GELU) gelu(to);
        if (highest) highest[(r * map.n_out + n) / PANEL] = largest(highest_of(out));
    });
}

template <class Type>
void best(const Linear& map, const Rows& x, int64_t n_rows, int64_t begin, int64_t end,
          int64_t n_never, int32_t* best, float* highest) {
    for (int64_t r = 0; r < n_rows; ++r) {
        highest[r] = -INFINITY;
        best[r] = static_cast<int32_t>(n_never);
    }
    for_each_panel<Type>(map, x, n_rows, begin, end, [&](int64_t r, int64_t n, Floats* out) {
        if (n == 0) out[0] = first(n_never, spread(-INFINITY), out[0]);
        const float most = largest(highest_of(out));
        if (!(most > highest[r])) return;
        float values[PANEL];
        for (int v = 0; v < VECTORS; ++v) store(values + v * LANES, out[v]);
        int j = 0;
        while (values[j] != most) ++j;
        highest[r] = most;
        best[r] = static_cast<int32_t>(n + j);
    });
}

void read(Int8, const float* x, int64_t n_rows, int64_t width, const Rows& to) {
    auto* values = static_cast<uint8_t*>(to.values);
    for (int64_t r = 0; r < n_rows; ++r) {
        const float* row = x + r * width;
        Floats most = spread(1e-20f);
        for (int64_t i = 0; i < width; i += LANES) most = larger(most, magnitude(load(row + i)));
        const float limit = largest(most);
        const Floats factor = spread(LARGEST / limit);
        to.scales[r] = limit / LARGEST;
        for (int64_t i = 0; i < width; i += LANES)
            store_bytes(values + r * to.stride + i,
                        plus(rounded(load(row + i) * factor), spread(int32_t{ZERO})));
    }
}

void read(Float32, const float* x, int64_t n_rows, int64_t width, const Rows& to) {
    for (int64_t r = 0; r < n_rows; ++r)
        std::memcpy(static_cast<float*>(to.values) + r * to.stride, x + r * width, 4 * width);
}

// Quantises to 127 steps on each side of zero, an output channel at a time.
void pack(Int8, const float* weight, int64_t n_out, int64_t start, const Linear& map) {
    constexpr int64_t BLOCK = 64;  // divides the width
    for (int64_t n = start; n < start + n_out; ++n, weight += map.n_in) {
        Floats most = spread(1e-12f);
        for (int64_t k = 0; k < map.n_in; k += LANES)
            most = larger(most, magnitude(load(weight + k)));
        const float limit = largest(most);
        const Floats factor = spread(127 / limit);
        auto* channel =
            static_cast<int8_t*>(map.weight) + n / PANEL * PANEL * map.n_in + n % PANEL * 4;
        int32_t sum = 0;
        for (int64_t first = 0; first < map.n_in; first += BLOCK) {
            uint8_t bytes[BLOCK];  // 128 added
            for (int64_t k = 0; k < BLOCK; k += LANES)
                store_bytes(bytes + k,
                            plus(rounded(load(weight + first + k) * factor), spread(int32_t{128})));
            for (int64_t k = 0; k < BLOCK; k += 4) {
                uint32_t four;
                std::memcpy(&four, bytes + k, 4);
                sum += bytes[k] + bytes[k + 1] + bytes[k + 2] + bytes[k + 3];
                four ^= 0x80808080;  // without the 128
                std::memcpy(channel + (first + k) * PANEL, &four, 4);
            }
        }
        map.scale[n] = limit / 127;
        map.offset[n] = ZERO * (sum - 128 * static_cast<int32_t>(map.n_in));
    }
}

void pack(Float32, const float* weight, int64_t n_out, int64_t start, const Linear& map) {
    for (int64_t n = start; n < start + n_out; ++n, weight += map.n_in) {
        float* channel = static_cast<float*>(map.weight) + n / PANEL * PANEL * map.n_in + n % PANEL;
        for (int64_t k = 0; k < map.n_in; ++k) channel[k * PANEL] = weight[k];
    }
}

}  // namespace
