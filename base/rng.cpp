// rng.cpp — Philox blocks, and distributions on top that use one uniform each where they can.
//
// Inversion keeps every distribution a monotone function of its uniform draw: two scenarios that
// differ in a mean see the same luck. Only + − × ÷, √ (correctly rounded by IEEE 754) and
// exact_math.hpp are used, so that draws are equal on every machine.
#include "base/rng.hpp"

#include <Random123/philox.h>

#include <cmath>
#include <cstddef>

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

std::uint64_t RandomStream::bits() {
    if (used_ == 4) {
        r123::Philox4x32::ctr_type counter{};
        for (std::size_t i = 0; i < 4; ++i) counter[i] = counter_[i];
        const r123::Philox4x32::key_type key{{key_[0], key_[1]}};
        const auto block = r123::Philox4x32{}(counter, key);
        for (std::size_t i = 0; i < 4; ++i) block_[i] = block[i];
        for (std::size_t i = 0; i < 4 && ++counter_[i] == 0; ++i) {
        }
        used_ = 0;
    }
    const std::uint64_t low = block_[used_];
    const std::uint64_t high = block_[used_ + 1];
    used_ += 2;
    return high << 32U | low;
}

double RandomStream::uniform() { return static_cast<double>(bits() >> 11U) * 0x1p-53; }

double RandomStream::open_uniform() { return (static_cast<double>(bits() >> 12U) + 0.5) * 0x1p-52; }

std::int64_t RandomStream::integer(std::int64_t min, std::int64_t max) {
    INVARIANT(min <= max);
    const std::uint64_t range = static_cast<std::uint64_t>(max) - static_cast<std::uint64_t>(min);
    if (range == UINT64_MAX) return static_cast<std::int64_t>(bits());
    // The top of draw × count is uniform but for a few draws, which are drawn again (Lemire 2019).
    __extension__ using Uint128 = unsigned __int128;
    const std::uint64_t count = range + 1;
    const std::uint64_t unfair = (0 - count) % count;  // 2^64 mod count
    Uint128 product = Uint128{bits()} * count;
    while (static_cast<std::uint64_t>(product) < unfair) product = Uint128{bits()} * count;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(min) +
                                     static_cast<std::uint64_t>(product >> 64U));
}

bool RandomStream::chance(double probability) {
    INVARIANT(probability >= 0 && probability <= 1);
    return uniform() < probability;
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
