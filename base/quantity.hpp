// quantity.hpp — numbers that know what they measure.
//
// A quantity is created by a function that names its unit and read by a function that names its
// unit; between the two, no unit appears. Time, bytes, money and prices are integers, so sums are
// exact, comparisons are total, and overflow stops the program. Bandwidths are doubles, because
// they come out of models.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/invariant.hpp"

namespace ukemi {

__extension__ using Int128 = __int128;  // for products of two 64-bit quantities, never stored

template <class Dimension, class Rep>
class Quantity {
public:
    constexpr Quantity() = default;  // zero
    static constexpr Quantity of(Rep raw) { return Quantity{raw}; }
    static constexpr Quantity max() { return of(std::numeric_limits<Rep>::max()); }
    constexpr Rep raw() const { return raw_; }

    friend constexpr auto operator<=>(Quantity, Quantity) = default;

    friend constexpr Quantity operator+(Quantity a, Quantity b) { return of(add(a.raw_, b.raw_)); }
    friend constexpr Quantity operator-(Quantity a, Quantity b) {
        return of(subtract(a.raw_, b.raw_));
    }
    friend constexpr Quantity operator*(std::int64_t n, Quantity a) { return of(mul(a.raw_, n)); }
    friend constexpr double operator/(Quantity a, Quantity b) {  // like over like: a plain ratio
        return static_cast<double>(a.raw_) / static_cast<double>(b.raw_);
    }
    constexpr Quantity& operator+=(Quantity b) { return *this = *this + b; }
    constexpr Quantity& operator-=(Quantity b) { return *this = *this - b; }

private:
    constexpr explicit Quantity(Rep raw) : raw_(raw) {}

    static constexpr Rep add(Rep a, Rep b) {
        if constexpr (std::is_integral_v<Rep>) {
            Rep sum{};
            INVARIANT(!__builtin_add_overflow(a, b, &sum));
            return sum;
        } else {
            return a + b;
        }
    }
    static constexpr Rep subtract(Rep a, Rep b) {
        if constexpr (std::is_integral_v<Rep>) {
            Rep difference{};
            INVARIANT(!__builtin_sub_overflow(a, b, &difference));
            return difference;
        } else {
            return a - b;
        }
    }
    static constexpr Rep mul(Rep a, std::int64_t n) {
        if constexpr (std::is_integral_v<Rep>) {
            Rep product{};
            INVARIANT(!__builtin_mul_overflow(a, n, &product));
            return product;
        } else {
            return a * static_cast<double>(n);
        }
    }

    Rep raw_{};
};

using Duration = Quantity<struct DurationDimension, std::int64_t>;  // nanoseconds, ±292 years
using Bytes = Quantity<struct BytesDimension, std::int64_t>;
using Dollars = Quantity<struct DollarsDimension, std::int64_t>;  // nano-dollars, ±9.2 billion USD
using Price = Quantity<struct PriceDimension, std::int64_t>;      // nano-dollars per hour
using EgressPrice = Quantity<struct EgressPriceDimension, std::int64_t>;  // per 10^9 bytes
using BytesPerSecond = Quantity<struct BandwidthDimension, double>;

// Turning a model's real number into an exact one is the only place that rounds. It says how.
inline std::int64_t round_nearest(double x) {
    INVARIANT(std::abs(x) < 9.2e18);  // also refuses NaN
    return std::llround(x);
}
inline std::int64_t round_up(double x) { return round_nearest(std::ceil(x)); }

constexpr Duration nanoseconds(std::int64_t n) { return Duration::of(n); }
constexpr Duration milliseconds(std::int64_t n) { return n * Duration::of(1'000'000); }
constexpr Duration whole_seconds(std::int64_t n) { return n * Duration::of(1'000'000'000); }
constexpr Duration minutes(std::int64_t n) { return n * whole_seconds(60); }
constexpr Duration hours(std::int64_t n) { return n * minutes(60); }
constexpr Duration days(std::int64_t n) { return n * hours(24); }
inline Duration seconds(double s) { return Duration::of(round_nearest(s * 1e9)); }
constexpr double to_seconds(Duration d) { return static_cast<double>(d.raw()) / 1e9; }
constexpr double to_hours(Duration d) { return to_seconds(d) / 3600.0; }

constexpr Bytes bytes(std::int64_t n) { return Bytes::of(n); }
constexpr Bytes mebibytes(std::int64_t n) { return n * Bytes::of(1024 * 1024); }
constexpr BytesPerSecond gigabits_per_second(double g) { return BytesPerSecond::of(g * 1e9 / 8); }

constexpr Dollars nano_dollars(std::int64_t n) { return Dollars::of(n); }
inline Dollars dollars(double d) { return Dollars::of(round_nearest(d * 1e9)); }
constexpr double to_dollars(Dollars d) { return static_cast<double>(d.raw()) / 1e9; }
inline Price dollars_per_hour(double d) { return Price::of(round_nearest(d * 1e9)); }
constexpr double to_dollars_per_hour(Price p) { return static_cast<double>(p.raw()) / 1e9; }

// The smallest multiple of `step` that is not less than `d`; `d` itself when step is zero.
constexpr Duration round_up_to(Duration d, Duration step) {
    if (step <= Duration{}) return d;
    const std::int64_t remainder = d.raw() % step.raw();
    if (remainder == 0) return d;
    return Duration::of(d.raw() - remainder) + (d.raw() > 0 ? step : Duration{});
}
constexpr Duration round_down_to(Duration d, Duration step) {
    if (step <= Duration{}) return d;
    const std::int64_t remainder = d.raw() % step.raw();
    if (remainder == 0) return d;
    return Duration::of(d.raw() - remainder) - (d.raw() < 0 ? step : Duration{});
}

// The products that mean something. Everything else does not compile.
constexpr Dollars operator*(EgressPrice price, Bytes size) {  // rounds up
    INVARIANT(price >= EgressPrice{} && size >= Bytes{});
    constexpr std::int64_t gigabyte = 1'000'000'000;
    const Int128 whole = (static_cast<Int128>(price.raw()) * size.raw() + gigabyte - 1) / gigabyte;
    INVARIANT(whole <= std::numeric_limits<std::int64_t>::max());
    return Dollars::of(static_cast<std::int64_t>(whole));
}
inline Duration operator/(Bytes size, BytesPerSecond rate) {  // rounds up: no transfer is free
    INVARIANT(rate.raw() > 0);
    return Duration::of(round_up(static_cast<double>(size.raw()) / rate.raw() * 1e9));
}

// Money in the making: price × time, exact, until it is rounded once for a bill.
class Charge {
public:
    constexpr Charge() = default;
    constexpr void add(Price price, Duration held) {
        INVARIANT(held >= Duration{});
        raw_ += static_cast<Int128>(price.raw()) * held.raw();
    }
    constexpr void add(const Charge& other) { raw_ += other.raw_; }
    constexpr void subtract(const Charge& other) { raw_ -= other.raw_; }
    constexpr Charge times(std::int64_t n) const {
        Charge product = *this;
        product.raw_ *= n;
        return product;
    }
    // Rounded to the nearest nano-dollar, halves away from zero.
    constexpr Dollars rounded() const {
        constexpr std::int64_t per_hour = 3'600'000'000'000;
        const Int128 half = raw_ < 0 ? -per_hour / 2 : per_hour / 2;
        const Int128 whole = (raw_ + half) / per_hour;
        INVARIANT(whole <= std::numeric_limits<std::int64_t>::max() &&
                  whole >= std::numeric_limits<std::int64_t>::min());
        return Dollars::of(static_cast<std::int64_t>(whole));
    }
    friend constexpr bool operator==(const Charge&, const Charge&) = default;

private:
    Int128 raw_ = 0;  // nano-dollars × nanoseconds / hour
};

// A point on the run's clock. Instants subtract to a Duration; they never add.
class Instant {
public:
    constexpr Instant() = default;  // the start of the run
    static constexpr Instant at(Duration since_start) { return Instant{since_start}; }
    static constexpr Instant never() { return Instant{Duration::max()}; }
    constexpr Duration since_start() const { return since_start_; }
    constexpr std::int64_t raw() const { return since_start_.raw(); }

    friend constexpr auto operator<=>(Instant, Instant) = default;
    friend constexpr Instant operator+(Instant t, Duration d) {
        return Instant{t.since_start_ + d};
    }
    friend constexpr Instant operator-(Instant t, Duration d) {
        return Instant{t.since_start_ - d};
    }
    friend constexpr Duration operator-(Instant later, Instant earlier) {
        return later.since_start_ - earlier.since_start_;
    }

private:
    constexpr explicit Instant(Duration since_start) : since_start_(since_start) {}
    Duration since_start_;
};

}  // namespace ukemi
