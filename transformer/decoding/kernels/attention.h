// Attention of one query to the keys and values of one head, the norm, and sums of exponentials.

#pragma once

#include "kernels.h"
#include "simd.h"

namespace {

template <class Cache>
void remember(const float* key, const float* value, int64_t channels, int64_t position,
              void* keys, void* values) {
    Cache* column = static_cast<Cache*>(keys) + position / VECTOR * VECTOR * channels +
                    position % VECTOR;
    Cache* row = static_cast<Cache*>(values) + position * channels;
    Cache numbers[LANES];
    for (int64_t c = 0; c < channels; c += LANES) {
        store(row + c, load(value + c));
        store(numbers, load(key + c));
        for (int i = 0; i < LANES; ++i) column[(c + i) * VECTOR] = numbers[i];
    }
}

// exp for x <= 0: 2^n times a polynomial on half an octave to each side (relative error 3e-7).
inline Floats exponential(Floats x) {
    const Floats scaled = larger(x * spread(1.44269504f), spread(-126.0f));
    const Floats whole = whole_part(scaled);
    const Floats f = scaled - whole;
    constexpr float FACTORS[] = {1.3333558e-3f, 9.6181291e-3f, 5.5504109e-2f,
                                 2.4022651e-1f, 6.9314718e-1f, 1.0f};
    Floats p = spread(1.5403530e-4f);
    for (const float c : FACTORS) p = multiply_add(p, f, spread(c));
    return times_power_of_two(p, whole);
}

// N vectors of the weighted sum of n values: (n, C) -> (N LANES,).
template <int N, class Cache>
void add_up(const Cache* values, int64_t n, int64_t channels, const float* weights, Floats share,
            float* out) {
    Floats sum[N] = {};
    for (int64_t p = 0; p < n; ++p) {
        const Floats weight = spread(weights[p]);
#pragma GCC unroll 8
        for (int i = 0; i < N; ++i)
            sum[i] = multiply_add(weight, load(values + p * channels + i * LANES), sum[i]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) store(out + i * LANES, sum[i] * share);
}

template <class Cache>
void attend(const float* query, const void* all_keys, const void* all_values, int64_t n,
            int64_t channels, float* out, float* weights, float* looked, float factor) {
    const auto* keys = static_cast<const Cache*>(all_keys);
    const auto* values = static_cast<const Cache*>(all_values);
    const Floats lowest = spread(-INFINITY);
    Floats most = lowest, sum = spread(0.0f);
    for (int64_t p = 0; p < n; p += LANES) {
        const Cache* column = keys + p / VECTOR * VECTOR * channels + p % VECTOR;
        Floats part[4] = {};  // independent sums, so that none waits for another
        for (int64_t c = 0; c < channels; c += 4)
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i)
                part[i] = multiply_add(spread(query[c + i]), load(column + (c + i) * VECTOR),
                                       part[i]);
        const Floats score = first(n - p, (part[0] + part[1]) + (part[2] + part[3]), lowest);
        most = larger(most, score);
        store(weights + p, score);
    }
    const Floats highest = spread(largest(most));
    for (int64_t p = 0; p < n; p += LANES) {
        const Floats weight = exponential(load(weights + p) - highest);  // 1e-38 past the end
        sum = sum + weight;
        store(weights + p, weight);
    }
    const float share = 1 / total(sum);
    int64_t c = 0;
    for (; c + 64 <= channels; c += 64)
        add_up<64 / LANES>(values + c, n, channels, weights, spread(share), out + c);
    for (; c < channels; c += 16)
        add_up<16 / LANES>(values + c, n, channels, weights, spread(share), out + c);
    if (looked)
        for (int64_t p = 0; p < n; ++p) looked[p] += weights[p] * share * factor;
}

// A row is added up in this many partial sums, which are then added in pairs, so that its norm is
// the same to the last bit with any compiler. It is 16 for AVX-512 with VNNI and 8 otherwise, since
// the results recorded since the first release depend on it.
constexpr int SUMS = SIMD == AVX512 && ZERO == 128 && !MATRIX_UNIT ? 16 : 8;
using Part = float __attribute__((vector_size(4 * SUMS)));

inline float total_of_part(const Part& x) {
    float sums[SUMS];
    for (int n = SUMS; n > 1; n /= 2)
        for (int i = 0; i < n / 2; ++i)
            sums[i] = n == SUMS ? x[i] + x[i + n / 2] : sums[i] + sums[i + n / 2];
    return sums[0];
}

void normalise(const Norm& norm, const float* x, int64_t n_rows, int64_t width, float* y) {
    constexpr float EPSILON = 1e-5f;
    for (int64_t r = 0; r < n_rows; ++r, x += width, y += width) {
        Part part, sum = {}, squares = {};
        for (int64_t i = 0; i < width; i += SUMS) {
            std::memcpy(&part, x + i, sizeof part);
            sum += part;
        }
        const float mean = total_of_part(sum) / width;
        for (int64_t i = 0; i < width; i += SUMS) {
            std::memcpy(&part, x + i, sizeof part);
            part -= mean;
            squares += part * part;
        }
        const float factor = 1 / std::sqrt(total_of_part(squares) / width + EPSILON);
        for (int64_t i = 0; i < width; ++i)
            y[i] = (x[i] - mean) * (factor * norm.weight[i]) + norm.bias[i];
    }
}

float log_sum(const float* logits, int64_t n, float highest) {
    Floats sum = spread(0.0f);
    for (int64_t i = 0; i + LANES <= n; i += LANES)
        sum = sum + exponential(load(logits + i) - spread(highest));
    float rest = 0;
    for (int64_t i = n / LANES * LANES; i < n; ++i) rest += std::exp(logits[i] - highest);
    return std::log(total(sum) + rest);
}

}  // namespace
