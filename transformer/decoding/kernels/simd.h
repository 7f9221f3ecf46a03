// Vectors as the kernels use them: 16 numbers side by side with AVX-512, 8 with AVX2, else 4.
//
// Only this file uses a processor's instructions, except those of the matrix unit. Each variant
// defines SIMD as AVX512, AVX2, NEON or GENERIC, and DOT if it can multiply bytes in fours.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#define GENERIC 0
#define NEON 1
#define AVX2 2
#define AVX512 3

#if SIMD >= AVX2
#include <immintrin.h>
#elif SIMD == NEON
#include <arm_neon.h>
#endif

namespace {

#if SIMD == AVX512

using Floats = __m512;
using Integers = __m512i;
constexpr int LANES = 16;

inline Floats spread(float x) { return _mm512_set1_ps(x); }
inline Floats load(const float* x) { return _mm512_loadu_ps(x); }
inline void store(float* to, Floats x) { _mm512_storeu_ps(to, x); }
inline void store(uint16_t* to, Floats x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtps_ph(x, 0));
}
inline Floats load(const uint16_t* x) {  // halves
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
}
inline Floats multiply_add(Floats x, Floats y, Floats sum) { return _mm512_fmadd_ps(x, y, sum); }
inline Floats larger(Floats x, Floats y) { return _mm512_max_ps(x, y); }
inline Floats magnitude(Floats x) { return _mm512_abs_ps(x); }
inline Floats whole_part(Floats x) { return _mm512_roundscale_ps(x, 0); }
inline Floats times_power_of_two(Floats x, Floats whole) { return _mm512_scalef_ps(x, whole); }
inline float largest(Floats x) { return _mm512_reduce_max_ps(x); }
inline float total(Floats x) { return _mm512_reduce_add_ps(x); }
// x in the first n lanes, `other` in the rest.
inline Floats first(int64_t n, Floats x, Floats other) {
    return n < LANES ? _mm512_mask_mov_ps(other, static_cast<__mmask16>((1u << n) - 1), x) : x;
}

inline Integers rounded(Floats x) { return _mm512_cvtps_epi32(x); }
inline Integers spread(int32_t x) { return _mm512_set1_epi32(x); }
inline Integers plus(Integers x, Integers y) { return _mm512_add_epi32(x, y); }
inline Integers minus(Integers x, Integers y) { return _mm512_sub_epi32(x, y); }
inline Floats numbers(Integers x) { return _mm512_cvtepi32_ps(x); }
inline Integers load(const int32_t* x) { return _mm512_loadu_si512(x); }
inline Integers load_bytes(const int8_t* x) { return _mm512_load_si512(x); }
inline void store(int32_t* to, Integers x) { _mm512_storeu_si512(to, x); }
inline void store_bytes(uint8_t* to, Integers x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(x));
}
// Adds the products of four unsigned and four signed bytes to each lane; without VNNI the sums of
// two must fit 16 bits, for which input of 7 bits is small enough.
#ifdef DOT
constexpr int ZERO = 128, LARGEST = 127;
inline Integers add_products(Integers sum, Integers input, Integers weight) {
    return _mm512_dpbusd_epi32(sum, input, weight);
}
#else
constexpr int ZERO = 64, LARGEST = 63;
inline Integers add_products(Integers sum, Integers input, Integers weight) {
    const Integers pairs = _mm512_maddubs_epi16(input, weight);
    return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
}
#endif

#elif SIMD == AVX2  // with FMA and F16C, which came with it

using Floats = __m256;
using Integers = __m256i;
constexpr int LANES = 8;

inline Floats spread(float x) { return _mm256_set1_ps(x); }
inline Floats load(const float* x) { return _mm256_loadu_ps(x); }
inline void store(float* to, Floats x) { _mm256_storeu_ps(to, x); }
inline void store(uint16_t* to, Floats x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(x, 0));
}
inline Floats load(const uint16_t* x) {  // halves
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
}
inline Floats multiply_add(Floats x, Floats y, Floats sum) { return _mm256_fmadd_ps(x, y, sum); }
inline Floats larger(Floats x, Floats y) { return _mm256_max_ps(x, y); }
inline Floats magnitude(Floats x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }
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

inline Integers rounded(Floats x) { return _mm256_cvtps_epi32(x); }
inline Integers spread(int32_t x) { return _mm256_set1_epi32(x); }
inline Integers plus(Integers x, Integers y) { return _mm256_add_epi32(x, y); }
inline Integers minus(Integers x, Integers y) { return _mm256_sub_epi32(x, y); }
inline Floats numbers(Integers x) { return _mm256_cvtepi32_ps(x); }
inline Integers load(const int32_t* x) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
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
#ifdef DOT
constexpr int ZERO = 128, LARGEST = 127;
inline Integers add_products(Integers sum, Integers input, Integers weight) {
    return _mm256_dpbusd_avx_epi32(sum, input, weight);
}
#else
constexpr int ZERO = 64, LARGEST = 63;
inline Integers add_products(Integers sum, Integers input, Integers weight) {
    const Integers pairs = _mm256_maddubs_epi16(input, weight);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
#endif

#else  // four numbers; the compiler makes of them what its processor has

using Floats = float __attribute__((vector_size(16)));
using Integers = int32_t __attribute__((vector_size(16)));
constexpr int LANES = 4;

inline Floats spread(float x) { return Floats{x, x, x, x}; }
inline Floats load(const float* x) {
    Floats y;
    std::memcpy(&y, x, sizeof y);
    return y;
}
inline void store(float* to, Floats x) { std::memcpy(to, &x, sizeof x); }
inline Floats larger(Floats x, Floats y) { return x > y ? x : y; }
inline Floats magnitude(Floats x) { return x < 0 ? -x : x; }
inline float largest(Floats x) {
    const float low = x[0] > x[1] ? x[0] : x[1], high = x[2] > x[3] ? x[2] : x[3];
    return low > high ? low : high;
}
inline float total(Floats x) { return (x[0] + x[1]) + (x[2] + x[3]); }
inline Floats first(int64_t n, Floats x, Floats other) {
    return Integers{0, 1, 2, 3} < static_cast<int32_t>(n) ? x : other;
}
inline Integers spread(int32_t x) { return Integers{x, x, x, x}; }
inline Integers plus(Integers x, Integers y) { return x + y; }
inline Integers minus(Integers x, Integers y) { return x - y; }
inline Floats numbers(Integers x) { return __builtin_convertvector(x, Floats); }
inline Integers load(const int32_t* x) {
    Integers y;
    std::memcpy(&y, x, sizeof y);
    return y;
}
inline Integers load_bytes(const int8_t* x) {
    Integers y;
    std::memcpy(&y, x, sizeof y);
    return y;
}
inline void store(int32_t* to, Integers x) { std::memcpy(to, &x, sizeof x); }
inline void store_bytes(uint8_t* to, Integers x) {
    for (int i = 0; i < LANES; ++i) to[i] = static_cast<uint8_t>(x[i]);
}
// For whole numbers from -126 to 127: the power is put together from its exponent's bits.
inline Floats times_power_of_two(Floats x, Floats whole) {
    const Integers bits = (__builtin_convertvector(whole, Integers) + 127) << 23;
    Floats power;
    std::memcpy(&power, &bits, sizeof power);
    return x * power;
}
constexpr int ZERO = 0, LARGEST = 127;  // both factors have a sign

#if SIMD == NEON
inline Floats load(const uint16_t* x) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x))); }
inline void store(uint16_t* to, Floats x) {
    vst1_u16(to, vreinterpret_u16_f16(vcvt_f16_f32(x)));
}
inline Floats multiply_add(Floats x, Floats y, Floats sum) { return vfmaq_f32(sum, x, y); }
inline Floats whole_part(Floats x) { return vrndnq_f32(x); }
inline Integers add_products(Integers sum, Integers input, Integers weight) {
    const int8x16_t x = (int8x16_t)input, w = (int8x16_t)weight;
#ifdef DOT
    return vdotq_s32(sum, x, w);
#else
    const int16x8_t low = vmull_s8(vget_low_s8(x), vget_low_s8(w)), high = vmull_high_s8(x, w);
    return sum + vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high));
#endif
}
#else
inline Floats load(const uint16_t* x) {  // halves but for infinities: exponents moved by 112
    const Integers half = {x[0], x[1], x[2], x[3]}, size = (half & 0x7fff) << 13;
    Floats y;
    std::memcpy(&y, &size, sizeof y);
    y *= 0x1p112f;
    return (half & 0x8000) != 0 ? -y : y;
}
inline uint16_t to_half(float x) {  // to the nearest, of two the even one
    const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    x = std::fabs(x);
    if (!(x < 65520)) return sign | (x != x ? 0x7e00 : 0x7c00);
    int exponent;
    std::frexp(x, &exponent);
    exponent = exponent < -13 ? -13 : exponent;
    const int steps = static_cast<int>(std::nearbyint(std::ldexp(x, 11 - exponent)));
    return sign | static_cast<uint16_t>(steps + ((exponent + 13) << 10));
}
inline void store(uint16_t* to, Floats x) {
    for (int i = 0; i < LANES; ++i) to[i] = to_half(x[i]);
}
inline Floats multiply_add(Floats x, Floats y, Floats sum) { return x * y + sum; }
inline Floats whole_part(Floats x) {  // the nearest, of two the one away from zero
    const Integers whole = __builtin_convertvector(x + (x < 0 ? spread(-0.5f) : spread(0.5f)),
                                                   Integers);
    return __builtin_convertvector(whole, Floats);
}
inline Integers add_products(Integers sum, Integers input, Integers weight) {
    using Bytes = int8_t __attribute__((vector_size(16)));
    using Shorts = int16_t __attribute__((vector_size(32)));
    using Pairs = int32_t __attribute__((vector_size(32)));
    using Fours = int64_t __attribute__((vector_size(32)));
    const Shorts products = __builtin_convertvector((Bytes)input, Shorts) *
                            __builtin_convertvector((Bytes)weight, Shorts);
    const Pairs pairs = ((Pairs)products << 16 >> 16) + ((Pairs)products >> 16);
    return sum + __builtin_convertvector((Fours)pairs, Integers) +
           __builtin_convertvector((Fours)pairs >> 32, Integers);
}
#endif
inline Integers rounded(Floats x) { return __builtin_convertvector(whole_part(x), Integers); }

#endif

}  // namespace
