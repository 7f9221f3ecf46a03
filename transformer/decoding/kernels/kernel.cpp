// The encoder and the decoder's step in int8, for processors with AVX-512 or AVX2.
//
// Optional: `native.py` compiles this file where a C++ compiler is at hand; elsewhere the engine
// runs on PyTorch's own kernels. Plain C interface, no library but the compiler's own.
//
// Numbers: weights have 8 bits and a scale for each output channel. Each row of the input is
// quantised by itself to unsigned integers around ZERO, so that a row's result does not depend on
// the rows beside it. With VNNI they have 8 bits; without it, products are added in pairs in 16
// bits, and 7 bits keep those sums exact. Keys and values are kept in float16, all else is float32.
//
// Shapes: R rows, B sentences of R / B rows each, D model width, H heads of C channels, S source,
// P positions in the buffer of the target, V vocabulary.

#include "simd.h"
#ifdef __AMX_INT8__
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

constexpr int ZERO = VNNI ? 128 : 64;
constexpr int TILE = VNNI ? 6 : 5;  // rows computed at once: their sums just fit the registers
constexpr int VECTORS = LANES == 16 ? 4 : 2;  // of a panel; twice as many registers, twice as many
constexpr int PANEL = VECTORS * LANES;        // output channels computed at once
constexpr int MATRIX = 32;  // rows computed at once by the matrix unit (AMX), in two halves
constexpr int BLOCK = 240;  // rows whose input stays in the second-level cache

}  // namespace

extern "C" {

extern const int32_t LARGEST = ZERO - 1;  // of a quantised input

// Weights (D_out / PANEL, D_in / 4, PANEL, 4) in int8, the scale and bias of each output channel,
// and the sum of its weights, which takes ZERO out again.
struct Linear {
    const int8_t* weight;
    const float* scale;
    const float* bias;
    const int32_t* sum;
    int64_t n_in, n_out;
};

struct Norm {
    const float* weight;
    const float* bias;
};

struct Layer {
    Linear self_in, self_out, expand, contract;
    Norm self_norm, feed_norm;
    Linear cross_query, cross_out;  // none in an encoder
    Norm cross_norm;
};

// An encoder or a decoder. `output` gives the logits, or the keys and values of the memory.
struct Stack {
    const Layer* layers;
    const float* embedding;  // (V, D)
    const float* positions;  // (max_len, D)
    Linear output;
    Norm norm;  // before `output`, in a pre-norm model
    int64_t n_layers, n_heads, d_model, post, gelu;
    int64_t n_never;  // the first tokens, which never follow
    float epsilon;
};

// Keys (L, R, H, C, P) and values (L, R, H, P, C) of the target so far, and of the source.
struct State {
    uint16_t *past_keys, *past_values;
    const uint16_t *memory_keys, *memory_values;
    const int32_t* lengths;  // (B,) source tokens
    int64_t n_rows, n_sentences, length, n_positions, n_source;
};
}

namespace {

struct Rows {  // a quantised input; its rows lie `stride` bytes apart
    std::vector<uint8_t> values;
    std::vector<float> scales;
    int64_t stride;  // no power of two, which would put all rows in the same corner of the cache
};

void quantise(const float* x, int64_t n_rows, int64_t width, Rows& out) {
    out.stride = width + 64;
    out.values.resize((n_rows + MATRIX) * out.stride);  // it may read as many rows more
    out.scales.resize(n_rows);
    for (int64_t r = 0; r < n_rows; ++r) {
        const float* row = x + r * width;
        Floats most = spread(1e-20f);
        for (int64_t i = 0; i < width; i += LANES) most = larger(most, magnitude(load(row + i)));
        const float limit = largest(most);
        const Floats factor = spread(LARGEST / limit);
        out.scales[r] = limit / LARGEST;
        for (int64_t i = 0; i < width; i += LANES)
            store_bytes(out.values.data() + r * out.stride + i,
                        plus(rounded(load(row + i) * factor), spread(ZERO)));
    }
}

// N rows times one panel of weights: (N, n_in), (n_in, PANEL) -> sums (N, PANEL). Unrolled at once,
// or GCC leaves the sums in memory, at half the speed.
template <int N>
void tile(const uint8_t* rows, int64_t stride, int64_t n_in, const int8_t* panel, int32_t* sums) {
    Integers sum[N][VECTORS] = {};
    for (int64_t k = 0; k < n_in; k += 4) {
        Integers weight[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; ++v)
            weight[v] = load_bytes(panel + k * PANEL + v * 4 * LANES);
#pragma GCC unroll 6
        for (int r = 0; r < N; ++r) {
            int32_t four;
            std::memcpy(&four, rows + r * stride + k, 4);
            const Integers input = spread(four);
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; ++v)
                sum[r][v] = add_products(sum[r][v], input, weight[v]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < N; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; ++v) store(sums + r * PANEL + v * LANES, sum[r][v]);
}

using Multiply = void(int, const uint8_t*, int64_t, int64_t, const int8_t*, int32_t*);

void vector_tile(int n, const uint8_t* rows, int64_t stride, int64_t n_in, const int8_t* panel,
                 int32_t* sums) {
    switch (n) {
        case 1:
            return tile<1>(rows, stride, n_in, panel, sums);
        case 2:
            return tile<2>(rows, stride, n_in, panel, sums);
        case 3:
            return tile<3>(rows, stride, n_in, panel, sums);
        case 4:
            return tile<4>(rows, stride, n_in, panel, sums);
        case 5:
            return tile<5>(rows, stride, n_in, panel, sums);
        default:
            return tile<6>(rows, stride, n_in, panel, sums);
    }
}

#ifdef __AMX_INT8__
// Linux lets a process use the matrix unit's registers once it has asked.
bool has_matrix_unit() {
    constexpr int REQUEST = 0x1023, TILE_DATA = 18;
    static const bool granted = syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
    return granted;
}

// While one lives, this thread has eight registers of 16 rows of 64 bytes.
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
constexpr bool has_matrix_unit() { return false; }
struct MatrixRegisters {
    explicit MatrixRegisters(bool) {}
};
void matrix_tile(int, const uint8_t*, int64_t, int64_t, const int8_t*, int32_t*) {}
#endif

// Calls use(row, first channel, 64 outputs) for every row and panel, on some threads at once.
template <typename Use>
void for_each_panel(const Linear& map, const Rows& x, int64_t n_rows, int64_t n_threads, Use use) {
    const bool matrix = n_rows > TILE && has_matrix_unit();
    Multiply* const multiply = matrix ? matrix_tile : vector_tile;
    const int64_t most = matrix ? MATRIX : TILE;
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        const MatrixRegisters registers(matrix);
        alignas(64) int32_t sums[MATRIX * PANEL];
        alignas(64) float out[PANEL];
        for (int64_t block = 0; block < n_rows; block += BLOCK) {
            const int64_t end = std::min(n_rows, block + BLOCK);
#pragma omp for schedule(static)
            for (int64_t n = 0; n < map.n_out; n += PANEL)
                for (int64_t r = block; r < end; r += most) {
                    const int count = static_cast<int>(std::min<int64_t>(most, end - r));
                    multiply(count, x.values.data() + r * x.stride, x.stride, map.n_in,
                             map.weight + n * map.n_in, sums);
                    for (int i = 0; i < count; ++i) {
                        for (int j = 0; j < PANEL; ++j)
                            out[j] = (sums[i * PANEL + j] - ZERO * map.sum[n + j]) *
                                         x.scales[r + i] * map.scale[n + j] +
                                     map.bias[n + j];
                        use(r + i, n, out);
                    }
                }
        }
    }
}

enum class After { NOTHING, ADD, RELU, GELU };

void apply(const Linear& map, const Rows& x, int64_t n_rows, float* y, After after,
           int64_t n_threads) {
    for_each_panel(map, x, n_rows, n_threads, [&](int64_t r, int64_t n, const float* out) {
        float* to = y + r * map.n_out + n;
        for (int j = 0; j < PANEL; ++j) {
            if (after == After::ADD)
                to[j] += out[j];
            else if (after == After::RELU)
                to[j] = std::max(out[j], 0.0f);
            else if (after == After::GELU)
                to[j] = 0.5f * out[j] * (1 + std::erf(out[j] * 0.70710678f));
            else
                to[j] = out[j];
        }
    });
}

void normalise(const Norm& norm, float epsilon, const float* x, int64_t n_rows, int64_t width,
               float* y) {
    for (int64_t r = 0; r < n_rows; ++r, x += width, y += width) {
        float sum = 0, squares = 0;
        for (int64_t i = 0; i < width; ++i) sum += x[i];
        const float mean = sum / width;
        for (int64_t i = 0; i < width; ++i) squares += (x[i] - mean) * (x[i] - mean);
        const float factor = 1 / std::sqrt(squares / width + epsilon);
        for (int64_t i = 0; i < width; ++i)
            y[i] = (x[i] - mean) * factor * norm.weight[i] + norm.bias[i];
    }
}

inline uint16_t to_half(float x) {
    return _cvtss_sh(x, 0);
}

// exp for x <= 0: 2^n times a polynomial on half an octave to each side (relative error 3e-7).
inline Floats exponential(Floats x) {
    const Floats scaled = larger(x * spread(1.44269504f), spread(-126.0f));
    const Floats whole = whole_part(scaled);
    const Floats f = scaled - whole;
    Floats p = spread(1.5403530e-4f);
    for (float c :
         {1.3333558e-3f, 9.6181291e-3f, 5.5504109e-2f, 2.4022651e-1f, 6.9314718e-1f, 1.0f})
        p = multiply_add(p, f, spread(c));
    return times_power_of_two(p, whole);
}

// N vectors of the weighted sum of n values: (n, C) -> (N LANES,).
template <int N>
void add_up(const uint16_t* values, int64_t n, int64_t channels, const float* weights, Floats share,
            float* out) {
    Floats sum[N] = {};
    for (int64_t p = 0; p < n; ++p) {
        const Floats weight = spread(weights[p]);
#pragma GCC unroll 8
        for (int i = 0; i < N; ++i)
            sum[i] = multiply_add(weight, read_half(values + p * channels + i * LANES), sum[i]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) store(out + i * LANES, sum[i] * share);
}

// softmax(query keys) values of one head: keys (C, P), values (P, C), the first n of P positions.
void attend(const float* query, const uint16_t* keys, const uint16_t* values, int64_t n,
            int64_t n_positions, int64_t channels, float* out, float* weights) {
    const Floats lowest = spread(-INFINITY);
    Floats most = lowest, sum = spread(0.0f);
    for (int64_t p = 0; p < n; p += LANES) {
        Floats part[4] = {};  // sums that do not wait for each other
        for (int64_t c = 0; c < channels; c += 4)
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i)
                part[i] = multiply_add(spread(query[c + i]),
                                       read_half(keys + (c + i) * n_positions + p), part[i]);
        const Floats score = first(n - p, (part[0] + part[1]) + (part[2] + part[3]), lowest);
        most = larger(most, score);
        store(weights + p, score);
    }
    const Floats highest = spread(largest(most));
    for (int64_t p = 0; p < n; p += LANES) {
        const Floats weight = exponential(load(weights + p) - highest);  // 1e-38 where nothing is
        sum = sum + weight;
        store(weights + p, weight);
    }
    const Floats share = spread(1 / total(sum));
    int64_t c = 0;
    for (; c + 64 <= channels; c += 64)
        add_up<64 / LANES>(values + c, n, channels, weights, share, out + c);
    for (; c < channels; c += 16)
        add_up<16 / LANES>(values + c, n, channels, weights, share, out + c);
}

// What one call needs beside its arguments; kept from call to call, one for each thread.
struct Scratch {
    std::vector<float> x, y, wide, weights;
    std::vector<uint16_t> keys, values;
    Rows rows;
};

// The residual stream of some rows on its way through a stack of layers.
struct Stream {
    const Stack& stack;
    Scratch& scratch;
    int64_t n_rows, n_threads;
    int64_t d_model = stack.d_model, n_heads = stack.n_heads, channels = d_model / n_heads;
    float *x = scratch.x.data(), *y = scratch.y.data(), *wide = scratch.wide.data();
    float* weights = scratch.weights.data();

    void embed(int64_t row, int64_t id, int64_t position) {
        const float factor = std::sqrt(static_cast<float>(d_model));
        const float* token = stack.embedding + id * d_model;
        const float* place = stack.positions + position * d_model;
        for (int64_t i = 0; i < d_model; ++i) x[row * d_model + i] = token[i] * factor + place[i];
    }

    void read(const Norm& norm) {  // the scratch rows = x quantised, or norm(x) before a sublayer
        if (stack.post) return quantise(x, n_rows, d_model, scratch.rows);
        normalise(norm, stack.epsilon, x, n_rows, d_model, y);
        quantise(y, n_rows, d_model, scratch.rows);
    }

    void project(const Linear& map, After after = After::NOTHING) {  // wide = map(scratch rows)
        apply(map, scratch.rows, n_rows, wide, after, n_threads);
    }

    void write(const Linear& map, const Norm& norm, const float* from) {  // x = x + map(from)
        quantise(from, n_rows, map.n_in, scratch.rows);
        apply(map, scratch.rows, n_rows, x, After::ADD, n_threads);
        if (stack.post) normalise(norm, stack.epsilon, x, n_rows, d_model, x);
    }

    void feed(const Layer& layer) {
        read(layer.feed_norm);
        project(layer.expand, stack.gelu ? After::GELU : After::RELU);
        write(layer.contract, layer.feed_norm, wide);
    }
};

Scratch& scratch_for(const Stack& stack, int64_t n_rows, int64_t n_keys) {
    thread_local Scratch scratch;
    const int64_t widest = std::max({3 * stack.d_model, stack.layers[0].expand.n_out,
                                     stack.layers[0].cross_query.weight ? 0 : stack.output.n_out});
    scratch.x.resize(n_rows * stack.d_model);
    scratch.y.resize(n_rows * stack.d_model);
    scratch.wide.resize(n_rows * widest);
    scratch.weights.resize(n_keys + 16);
    scratch.keys.resize(n_keys * stack.d_model);
    scratch.values.resize(n_keys * stack.d_model);
    return scratch;
}

// Asks for the keys and values of the next head while this one's are used.
void fetch(const uint16_t* keys, const uint16_t* values, int64_t n, int64_t n_positions,
           int64_t channels) {
    for (int64_t i = 0; i < n_positions * channels; i += 32)
        _mm_prefetch(reinterpret_cast<const char*>(keys + i), _MM_HINT_T1);
    for (int64_t i = 0; i < n * channels; i += 32)
        _mm_prefetch(reinterpret_cast<const char*>(values + i), _MM_HINT_T1);
}

// Stores one position of one head: key (C,) in column `at` of (C, P), value in row `at` of (P, C).
void remember(const float* key, const float* value, int64_t channels, int64_t n_positions,
              int64_t at, uint16_t* keys, uint16_t* values) {
    for (int64_t c = 0; c < channels; ++c) {
        keys[c * n_positions + at] = to_half(key[c]);
        values[at * channels + c] = to_half(value[c]);
    }
}

void look_back(const Stream& stream, const State& state, int64_t layer) {
    const int64_t D = stream.d_model, C = stream.channels, P = state.n_positions;
    for (int64_t r = 0; r < stream.n_rows; ++r)
        for (int64_t h = 0; h < stream.n_heads; ++h) {
            const int64_t at = ((layer * stream.n_rows + r) * stream.n_heads + h) * P * C;
            uint16_t *keys = state.past_keys + at, *values = state.past_values + at;
            const float* query = stream.wide + r * 3 * D + h * C;
            fetch(keys + P * C, values + P * C, state.length, P, C);
            remember(query + D, query + 2 * D, C, P, state.length, keys, values);
            attend(query, keys, values, state.length + 1, P, C, stream.y + r * D + h * C,
                   stream.weights);
        }
}

void look_across(const Stream& stream, const State& state, int64_t layer) {
    const int64_t D = stream.d_model, C = stream.channels, S = state.n_source;
    const int64_t beams = stream.n_rows / state.n_sentences;
    for (int64_t r = 0; r < stream.n_rows; ++r)
        for (int64_t h = 0; h < stream.n_heads; ++h) {
            const int64_t sentence = r / beams;
            const int64_t at =
                ((layer * state.n_sentences + sentence) * stream.n_heads + h) * S * C;
            fetch(state.memory_keys + at + S * C, state.memory_values + at + S * C,
                  state.lengths[sentence], S, C);
            attend(stream.wide + r * D + h * C, state.memory_keys + at, state.memory_values + at,
                   state.lengths[sentence], S, C, stream.y + r * D + h * C, stream.weights);
        }
}

// Self-attention of one sentence of the encoder, whose rows start at `first`.
void look_around(const Stream& stream, int64_t first, int64_t length, int64_t n_positions) {
    const int64_t D = stream.d_model, C = stream.channels;
    uint16_t *keys = stream.scratch.keys.data(), *values = stream.scratch.values.data();
    for (int64_t h = 0; h < stream.n_heads; ++h) {
        const float* query = stream.wide + first * 3 * D + h * C;
        for (int64_t s = 0; s < length; ++s)
            remember(query + s * 3 * D + D, query + s * 3 * D + 2 * D, C, n_positions, s, keys,
                     values);
        for (int64_t s = 0; s < length; ++s)
            attend(query + s * 3 * D, keys, values, length, n_positions, C,
                   stream.y + (first + s) * D + h * C, stream.weights);
    }
}

}  // namespace

extern "C" {

// Quantises weights (n_out, n_in) to 127 steps on each side of zero, an output channel at a time,
// into panels with four inputs of one output side by side, as the multiplication takes them.
void pack(const float* weight, int64_t n_out, int64_t n_in, int8_t* panels, float* scale,
          int32_t* sum) {
    for (int64_t n = 0; n < n_out; ++n, weight += n_in) {
        float largest = 1e-12f;
        for (int64_t k = 0; k < n_in; ++k) largest = std::max(largest, std::fabs(weight[k]));
        const float factor = 127 / largest;
        int8_t* channel = panels + n / PANEL * PANEL * n_in + n % PANEL * 4;
        scale[n] = largest / 127;
        for (int64_t k = 0; k < n_in; ++k) {
            const auto value = static_cast<int8_t>(std::nearbyint(weight[k] * factor));
            channel[k / 4 * 4 * PANEL + k % 4] = value;
            sum[n] += value;
        }
    }
}

// y = x W^T + b, then nothing, relu (1) or gelu (2): (n_rows, D_in) -> (n_rows, n_out of `map`).
void linear(const Linear* map, const float* x, int64_t n_rows, float* y, int64_t activation) {
    thread_local Rows rows;
    quantise(x, n_rows, map->n_in, rows);
    const After after[] = {After::NOTHING, After::RELU, After::GELU};
    apply(*map, rows, n_rows, y, after[activation], 1);
}

// Reads some sentences, (B, width) ids of which the first `lengths` count, into the keys and
// values of the L layers of a decoder: (L, B, H, C, S) and (L, B, H, S, C). Padding costs nothing.
void encode(const Stack* encoder, const int64_t* ids, const int32_t* lengths, int64_t n_sentences,
            int64_t width, int64_t n_positions, uint16_t* keys, uint16_t* values,
            int64_t n_threads) {
    const int64_t D = encoder->d_model, H = encoder->n_heads, C = D / H;
    for (int64_t start = 0, end; start < n_sentences; start = end) {
        int64_t n_rows = 0;
        for (end = start; end < n_sentences && (end == start || n_rows + lengths[end] <= BLOCK);
             ++end)
            n_rows += lengths[end];
        Stream stream{*encoder, scratch_for(*encoder, n_rows, n_positions), n_rows, n_threads};
        for (int64_t b = start, row = 0; b < end; ++b)
            for (int64_t s = 0; s < lengths[b]; ++s) stream.embed(row++, ids[b * width + s], s);
        for (int64_t i = 0; i < encoder->n_layers; ++i) {
            const Layer& layer = encoder->layers[i];
            stream.read(layer.self_norm);
            stream.project(layer.self_in);
            for (int64_t b = start, row = 0; b < end; row += lengths[b++])
                look_around(stream, row, lengths[b], n_positions);
            stream.write(layer.self_out, layer.self_norm, stream.y);
            stream.feed(layer);
        }
        stream.read(encoder->norm);
        stream.project(encoder->output);
        const int64_t n_out = encoder->output.n_out, n_layers = n_out / (2 * D);
        for (int64_t b = start, row = 0; b < end; ++b)
            for (int64_t s = 0; s < lengths[b]; ++s, ++row)
                for (int64_t j = 0; j < n_layers * H; ++j) {
                    const int64_t layer = j / H, head = j % H;
                    const int64_t at = ((layer * n_sentences + b) * H + head) * n_positions * C;
                    const float* key = stream.wide + row * n_out + layer * 2 * D + head * C;
                    remember(key, key + D, C, n_positions, s, keys + at, values + at);
                }
    }
}

// Reads one token a row; then either all logits (R, V), or the best token of each row and its
// logit.
void step(const Stack* decoder, const State* state, const int64_t* ids, float* logits,
          int64_t* best, float* highest, int64_t n_threads) {
    const int64_t n_rows = state->n_rows;
    Scratch& scratch = scratch_for(*decoder, n_rows, std::max(state->n_source, state->n_positions));
    Stream stream{*decoder, scratch, n_rows, n_threads};
    for (int64_t r = 0; r < n_rows; ++r) stream.embed(r, ids[r], state->length);
    for (int64_t i = 0; i < decoder->n_layers; ++i) {
        const Layer& layer = decoder->layers[i];
        stream.read(layer.self_norm);
        stream.project(layer.self_in);
        look_back(stream, *state, i);
        stream.write(layer.self_out, layer.self_norm, stream.y);
        stream.read(layer.cross_norm);
        stream.project(layer.cross_query);
        look_across(stream, *state, i);
        stream.write(layer.cross_out, layer.cross_norm, stream.y);
        stream.feed(layer);
    }
    stream.read(decoder->norm);
    if (logits)
        return apply(decoder->output, scratch.rows, n_rows, logits, After::NOTHING, n_threads);
    std::fill(highest, highest + n_rows, -INFINITY);
    for_each_panel(decoder->output, scratch.rows, n_rows, n_threads,
                   [&](int64_t r, int64_t n, const float* out) {
                       const int64_t start = n == 0 ? decoder->n_never : 0;
                       float most = out[start];
                       for (int64_t j = start; j < PANEL; ++j) most = std::max(most, out[j]);
                       float before;
#pragma omp atomic read
                       before = highest[r];
                       if (most < before) return;
                       const int64_t token = n + (std::find(out + start, out + PANEL, most) - out);
#pragma omp critical
                       if (most > highest[r] || (most == highest[r] && token < best[r])) {
#pragma omp atomic write
                           highest[r] = most;
                           best[r] = token;
                       }
                   });
}
}
