// rng.cpp — Philox blocks, and distributions on top that use one uniform each where they can.
//
// Inversion keeps every distribution a monotone function of its uniform draw: two scenarios that
// differ in a mean see the same luck. Only + − × ÷, √ (correctly rounded by IEEE 754) and
// exact_math.hpp are used, so that draws are equal on every machine.
#include "base/rng.hpp"

#include <Random123/philox.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/exact_math.hpp"
#include "base/invariant.hpp"

namespace ukemi {
namespace {

// The finaliser of splitmix64 (Steele, Lea and Flood 2014): every input bit reaches every output.
std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31U);
}

// The key of a stream: FNV-1a over the bytes of its name, mixed with the mixed seed. The constant
// added to the seed keeps seed 0 from leaving the hash of the name as it is.
std::uint64_t stream_key(std::uint64_t seed, std::string_view name) {
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (const char c : name) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001B3U;
    return mix(hash ^ mix(seed + 0x9E3779B97F4A7C15U));
}

// Two words of each block, whose counters follow each other. Blocks know nothing of each other, so
// that a machine which multiplies two pairs of numbers at once draws two.
#if defined(__SSE2__)
// Each number is the lower half of a lane; the upper half is whatever the last product left.
struct TwoBlocks {
    __m128i a, b, c, d;
};

__m128i in_lanes(std::uint32_t number) { return _mm_set1_epi64x(number); }

__m128i words_of(__m128i low, __m128i high) {
    return _mm_or_si128(_mm_and_si128(low, in_lanes(UINT32_MAX)), _mm_slli_epi64(high, 32));
}

__m128i mixed(__m128i product, __m128i with, __m128i key) {
    return _mm_xor_si128(_mm_xor_si128(_mm_srli_epi64(product, 32), with), key);
}

TwoBlocks counters(std::uint64_t first) {
    const auto counter = static_cast<std::int64_t>(first);
    TwoBlocks two{};
    two.a = _mm_set_epi64x(counter + 1, counter);
    two.b = _mm_srli_epi64(two.a, 32);
    return two;
}

TwoBlocks after_round(const TwoBlocks& two, __m128i key_0, __m128i key_1) {
    const __m128i from_a = _mm_mul_epu32(two.a, in_lanes(PHILOX_M4x32_0));
    const __m128i from_c = _mm_mul_epu32(two.c, in_lanes(PHILOX_M4x32_1));
    return {mixed(from_c, two.b, key_0), from_c, mixed(from_a, two.d, key_1), from_a};
}

void write_words(const TwoBlocks& two, std::uint64_t* words) {
    const __m128i ones = words_of(two.a, two.b);
    const __m128i others = words_of(two.c, two.d);
    const __m128i first = _mm_unpacklo_epi64(ones, others);
    const __m128i second = _mm_unpackhi_epi64(ones, others);
    std::memcpy(words, &first, sizeof(first));
    std::memcpy(words + 2, &second, sizeof(second));
}

// Named, not in an array: so they stay in registers from round to round.
void draw_blocks(const std::array<std::uint32_t, 2>& key, std::uint64_t first,
                 std::array<std::uint64_t, 8>& drawn) {
    TwoBlocks here = counters(first);
    TwoBlocks there = counters(first + 2);
    __m128i key_0 = in_lanes(key[0]);
    __m128i key_1 = in_lanes(key[1]);
    for (int round = 0; round < philox4x32_rounds; ++round) {
        here = after_round(here, key_0, key_1);
        there = after_round(there, key_0, key_1);
        key_0 = _mm_add_epi32(key_0, in_lanes(PHILOX_W32_0));
        key_1 = _mm_add_epi32(key_1, in_lanes(PHILOX_W32_1));
    }
    write_words(here, drawn.data());
    write_words(there, &drawn[4]);
}
#else
void draw_blocks(const std::array<std::uint32_t, 2>& key, std::uint64_t first,
                 std::array<std::uint64_t, 8>& drawn) {
    for (std::size_t i = 0; i < drawn.size(); i += 2) {
        const std::uint64_t number = first + i / 2;
        r123::Philox4x32::ctr_type counter{};
        counter[0] = static_cast<std::uint32_t>(number);
        counter[1] = static_cast<std::uint32_t>(number >> 32U);
        const r123::Philox4x32::key_type key_of_both{{key[0], key[1]}};
        const auto block = r123::Philox4x32{}(counter, key_of_both);
        drawn[i] = std::uint64_t{block[1]} << 32U | block[0];
        drawn[i + 1] = std::uint64_t{block[3]} << 32U | block[2];
    }
}
#endif

// a[0] + a[1] x + a[2] x² + …
template <std::size_t count>
double polynomial(const std::array<double, count>& a, double x) {
    double sum = a[count - 1];
    for (std::size_t i = count - 1; i-- > 0;) sum = sum * x + a[i];
    return sum;
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view name) {
    const std::uint64_t key = stream_key(seed, name);
    key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32U)};
}

void RandomStream::draw_words() {
    draw_blocks(key_, next_block_, words_);
    next_block_ += words_drawn / 2;
    used_ = 0;
}

double RandomStream::open_uniform() { return (static_cast<double>(bits() >> 12U) + 0.5) * 0x1p-52; }

std::int64_t RandomStream::integer(std::int64_t min, std::int64_t max) {
    INVARIANT(min <= max);
    const std::uint64_t range = static_cast<std::uint64_t>(max) - static_cast<std::uint64_t>(min);
    if (range == UINT64_MAX) return static_cast<std::int64_t>(bits());
    // The top of draw × count is uniform but for a few draws, which are drawn again (Lemire 2019).
    __extension__ using Uint128 = unsigned __int128;
    const std::uint64_t count = range + 1;
    Uint128 product = Uint128{bits()} * count;
    if (static_cast<std::uint64_t>(product) < count) {     // seldom: spares the division
        const std::uint64_t unfair = (0 - count) % count;  // 2^64 mod count
        while (static_cast<std::uint64_t>(product) < unfair) product = Uint128{bits()} * count;
    }
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(min) +
                                     static_cast<std::uint64_t>(product >> 64U));
}

double RandomStream::exponential(double mean) {
    INVARIANT(mean >= 0 && std::isfinite(mean));
    return mean * -exact::log(open_uniform());
}

double RandomStream::normal(double mean, double standard_deviation) {
    INVARIANT(standard_deviation >= 0);
    return mean + standard_deviation * normal_quantile(open_uniform());
}

double RandomStream::lognormal(double log_mean, double log_standard_deviation) {
    return exact::exp(normal(log_mean, log_standard_deviation));
}

std::int64_t RandomStream::geometric(double probability) {
    INVARIANT(probability > 0 && probability <= 1);
    const double draw = open_uniform();
    if (probability == 1) return 0;
    const double failures = exact::log(draw) / exact::log1p(-probability);
    return failures < 0x1p62 ? static_cast<std::int64_t>(failures) : std::int64_t{1} << 62U;
}

// Algorithm AS 241, PPND16 (Wichura 1988, Applied Statistics 37): rational approximations, to about
// 16 digits. Not Boost.Math: draws reach events, and its bits lean on libm.
double normal_quantile(double probability) {
    INVARIANT(probability > 0 && probability < 1);
    static constexpr std::array<double, 8> a{3.3871328727963666080e0,  1.3314166789178437745e+2,
                                             1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                             4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                             3.3430575583588128105e+4, 2.5090809287301226727e+3};
    static constexpr std::array<double, 8> b{1.0,
                                             4.2313330701600911252e+1,
                                             6.8718700749205790830e+2,
                                             5.3941960214247511077e+3,
                                             2.1213794301586595867e+4,
                                             3.9307895800092710610e+4,
                                             2.8729085735721942674e+4,
                                             5.2264952788528545610e+3};
    static constexpr std::array<double, 8> c{1.42343711074968357734e0,  4.63033784615654529590e0,
                                             5.76949722146069140550e0,  3.64784832476320460504e0,
                                             1.27045825245236838258e0,  2.41780725177450611770e-1,
                                             2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static constexpr std::array<double, 8> d{1.0,
                                             2.05319162663775882187e0,
                                             1.67638483018380384940e0,
                                             6.89767334985100004550e-1,
                                             1.48103976427480074590e-1,
                                             1.51986665636164571966e-2,
                                             5.47593808499534494600e-4,
                                             1.05075007164441684324e-9};
    static constexpr std::array<double, 8> e{6.65790464350110377720e0,  5.46378491116411436990e0,
                                             1.78482653991729133580e0,  2.96560571828504891230e-1,
                                             2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                             2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static constexpr std::array<double, 8> f{1.0,
                                             5.99832206555887937690e-1,
                                             1.36929880922735805310e-1,
                                             1.48753612908506148525e-2,
                                             7.86869131145613259100e-4,
                                             1.84631831751005468180e-5,
                                             1.42151175831644588870e-7,
                                             2.04426310338993978564e-15};

    const double q = probability - 0.5;
    if (std::abs(q) <= 0.425) {
        const double r = 0.180625 - q * q;
        return q * polynomial(a, r) / polynomial(b, r);
    }
    const double r = std::sqrt(-exact::log(q < 0 ? probability : 1 - probability));
    const double size = r <= 5 ? polynomial(c, r - 1.6) / polynomial(d, r - 1.6)
                               : polynomial(e, r - 5) / polynomial(f, r - 5);
    return q < 0 ? -size : size;
}

}  // namespace ukemi
