// Vectors as the kernels use them: 16 numbers side by side with AVX-512, 8 with AVX2.
//
// The only file that knows the processor's instructions, but for the matrix unit.

#pragma once

#include <immintrin.h>

#include <cstdint>

#ifdef __AVX512F__

using Floats = __m512;
using Integers = __m512i;
constexpr int LANES = 16;

inline Floats spread(float x) {
    return _mm512_set1_ps(x);
}
inline Floats load(const float* x) {
    return _mm512_loadu_ps(x);
}
inline void store(float* to, Floats x) {
    _mm512_storeu_ps(to, x);
}
inline Floats read_half(const uint16_t* x) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
}
inline Floats multiply_add(Floats x, Floats y, Floats sum) {
    return _mm512_fmadd_ps(x, y, sum);
}
inline Floats larger(Floats x, Floats y) {
    return _mm512_max_ps(x, y);
}
inline Floats magnitude(Floats x) {
    return _mm512_abs_ps(x);
}
inline Floats whole_part(Floats x) {
    return _mm512_roundscale_ps(x, 0);
}
inline Floats times_power_of_two(Floats x, Floats whole) {
    return _mm512_scalef_ps(x, whole);
}
inline float largest(Floats x) {
    return _mm512_reduce_max_ps(x);
}
inline float total(Floats x) {
    return _mm512_reduce_add_ps(x);
}
// x in the first n lanes, `other` in the rest.
inline Floats first(int64_t n, Floats x, Floats other) {
    return n < LANES ? _mm512_mask_mov_ps(other, static_cast<__mmask16>((1u << n) - 1), x) : x;
}

inline Integers rounded(Floats x) {
    return _mm512_cvtps_epi32(x);
}
inline Integers spread(int32_t x) {
    return _mm512_set1_epi32(x);
}
inline Integers plus(Integers x, Integers y) {
    return _mm512_add_epi32(x, y);
}
inline Integers load_bytes(const int8_t* x) {
    return _mm512_load_si512(x);
}
inline void store(int32_t* to, Integers x) {
    _mm512_storeu_si512(to, x);
}
inline void store_bytes(uint8_t* to, Integers x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(x));
}
// Adds the products of four unsigned and four signed bytes to each lane; without VNNI the sums of
// two must fit 16 bits, for which input of 7 bits is small enough.
#ifdef __AVX512VNNI__
constexpr bool VNNI = true;
inline Integers add_products(Integers sum, Integers input, Integers weight) {
    return _mm512_dpbusd_epi32(sum, input, weight);
}
#else
constexpr bool VNNI = false;
inline Integers add_products(Integers sum, Integers input, Integers weight) {
    const Integers pairs = _mm512_maddubs_epi16(input, weight);
    return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
}
#endif

#else  // AVX2, with FMA and F16C, which came with it

using Floats = __m256;
using Integers = __m256i;
constexpr int LANES = 8;

inline Floats spread(float x) {
    return _mm256_set1_ps(x);
}
inline Floats load(const float* x) {
    return _mm256_loadu_ps(x);
}
inline void store(float* to, Floats x) {
    _mm256_storeu_ps(to, x);
}
inline Floats read_half(const uint16_t* x) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
}
inline Floats multiply_add(Floats x, Floats y, Floats sum) {
    return _mm256_fmadd_ps(x, y, sum);
}
inline Floats larger(Floats x, Floats y) {
    return _mm256_max_ps(x, y);
}
inline Floats magnitude(Floats x) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}
inline Floats whole_part(Floats x) {
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// For whole numbers from -126 to 127: the power is put together from its exponent's bits.
inline Floats times_power_of_two(Floats x, Floats whole) {
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(whole), _mm256_set1_epi32(127));
    return _mm256_mul_ps(x, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
}
inline float largest(Floats x) {
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}
inline float total(Floats x) {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}
// x in the first n lanes, `other` in the rest.
inline Floats first(int64_t n, Floats x, Floats other) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i here = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(n)), lanes);
    return _mm256_blendv_ps(other, x, _mm256_castsi256_ps(here));
}

inline Integers rounded(Floats x) {
    return _mm256_cvtps_epi32(x);
}
inline Integers spread(int32_t x) {
    return _mm256_set1_epi32(x);
}
inline Integers plus(Integers x, Integers y) {
    return _mm256_add_epi32(x, y);
}
inline Integers load_bytes(const int8_t* x) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(x));
}
inline void store(int32_t* to, Integers x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), x);
}
inline void store_bytes(uint8_t* to, Integers x) {
    const __m128i words =
        _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
}
// Adds the products of four unsigned and four signed bytes to each lane; without VNNI the sums of
// two must fit 16 bits, for which input of 7 bits is small enough.
#ifdef __AVXVNNI__
constexpr bool VNNI = true;
inline Integers add_products(Integers sum, Integers input, Integers weight) {
    return _mm256_dpbusd_avx_epi32(sum, input, weight);
}
#else
constexpr bool VNNI = false;
inline Integers add_products(Integers sum, Integers input, Integers weight) {
    const Integers pairs = _mm256_maddubs_epi16(input, weight);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
#endif

#endif
