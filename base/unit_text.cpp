// unit_text.cpp — the decimal is never a double on its way to an integer, nor back.
#include "base/unit_text.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/unit_pattern.hpp"

namespace ukemi {
namespace {

struct Unit {
    std::string_view name;
    std::int64_t size;  // in the quantity's integer
};

// From small to large; after those that are written, the names that are only read.
constexpr std::size_t written_durations = 7;
constexpr std::int64_t second = 1'000'000'000;
constexpr std::array<Unit, 21> duration_units{{{"ns", 1},
                                               {"us", 1'000},
                                               {"ms", 1'000'000},
                                               {"s", second},
                                               {"min", 60 * second},
                                               {"h", 3'600 * second},
                                               {"d", 86'400 * second},
                                               {"millisecond", 1'000'000},
                                               {"milliseconds", 1'000'000},
                                               {"sec", second},
                                               {"second", second},
                                               {"seconds", second},
                                               {"mins", 60 * second},
                                               {"minute", 60 * second},
                                               {"minutes", 60 * second},
                                               {"hr", 3'600 * second},
                                               {"hrs", 3'600 * second},
                                               {"hour", 3'600 * second},
                                               {"hours", 3'600 * second},
                                               {"day", 86'400 * second},
                                               {"days", 86'400 * second}}};
constexpr std::array<Unit, 3> price_units{
    {{"USD/h", 1'000'000'000}, {"USD/hr", 1'000'000'000}, {"USD/hour", 1'000'000'000}}};
constexpr std::array<Unit, 1> egress_price_units{{{"USD/GB", 1'000'000'000}}};
constexpr std::array<Unit, 12> bytes_units{{{"B", 1},
                                            {"byte", 1},
                                            {"bytes", 1},
                                            {"KB", 1'000},
                                            {"kB", 1'000},
                                            {"KiB", 1'024},
                                            {"MB", 1'000'000},
                                            {"MiB", 1'048'576},
                                            {"GB", 1'000'000'000},
                                            {"GiB", 1'073'741'824},
                                            {"TB", 1'000'000'000'000},
                                            {"TiB", 1'099'511'627'776}}};
constexpr std::array<Unit, 12> bandwidth_units{{{"bit/s", 1},  // in bits per second
                                                {"Kbit/s", 1'000},
                                                {"Mbit/s", 1'000'000},
                                                {"Gbit/s", 1'000'000'000},
                                                {"Tbit/s", 1'000'000'000'000},
                                                {"Kbps", 1'000},
                                                {"Mbps", 1'000'000},
                                                {"Gbps", 1'000'000'000},
                                                {"B/s", 8},
                                                {"KB/s", 8'000},
                                                {"MB/s", 8'000'000},
                                                {"GB/s", 8'000'000'000}}};

bool is_amount(std::string_view digits) {
    return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
}

struct Amount {
    std::string_view whole;
    std::string_view fraction;  // without trailing zeros
    std::int64_t unit = 0;
};
// "$0.90/h" is "0.90 USD/h": the same units without their first word.
constexpr std::string_view dollar_sign = "$";
constexpr std::string_view dollar_unit = "USD";

// digits [ "." digits ] [ " " ] unit; nothing if the text has another form.
std::optional<Amount> split_amount(std::string_view text, std::span<const Unit> units) {
    const bool dollars = text.starts_with(dollar_sign);
    if (dollars) text.remove_prefix(dollar_sign.size());
    const std::size_t end = text.find_first_not_of("0123456789.");
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view unit_name = text.substr(end);
    if (!dollars && unit_name.starts_with(' ')) unit_name.remove_prefix(1);
    Amount amount;
    for (const Unit& unit : units) {
        std::string_view name = unit.name;
        if (dollars && !name.starts_with(dollar_unit)) continue;
        if (dollars) name.remove_prefix(dollar_unit.size());
        if (name == unit_name) amount.unit = unit.size;
    }
    const std::string_view number = text.substr(0, end);
    const std::size_t point = number.find('.');
    amount.whole = number.substr(0, point);
    if (point != std::string_view::npos) {
        amount.fraction = number.substr(point + 1);
        if (!is_amount(amount.fraction)) return std::nullopt;
    }
    if (amount.unit == 0 || !is_amount(amount.whole)) return std::nullopt;
    while (amount.fraction.ends_with('0')) amount.fraction.remove_suffix(1);
    return amount;
}

struct Form {
    std::string_view noun;
    std::string_view finest;   // "whole nanoseconds"
    std::string_view largest;  // "292 years"
    std::span<const Unit> units;
};

std::int64_t parse_amount(std::string_view text, std::string_view where, const Form& form) {
    const auto refuse = [&](std::string_view expected) -> void {
        throw InputError(where, "",
                         fmt::format("expected {}, found {}", expected, ukemi::quoted(text)));
    };
    const std::optional<Amount> amount = split_amount(text, form.units);
    if (!amount) refuse(form.noun);

    Int128 value = 0;
    for (const char digit : amount->whole) {
        value = value * 10 + (digit - '0') * Int128{amount->unit};
        if (value > INT64_MAX) refuse(form.largest);
    }
    // A day is 2^16 × 5^11 × 27 ns: without trailing zeros, no fraction of more than 16 digits is a
    // whole number of anything here.
    constexpr std::size_t digits_max = 16;
    if (amount->fraction.size() > digits_max) refuse(form.finest);
    Int128 numerator = 0;
    Int128 denominator = 1;
    for (const char digit : amount->fraction) {
        numerator = numerator * 10 + (digit - '0');
        denominator *= 10;
    }
    numerator *= amount->unit;  // < 10^16 × 8.64 × 10^13
    if (numerator % denominator != 0) refuse(form.finest);
    value += numerator / denominator;
    if (value > INT64_MAX) refuse(form.largest);
    return static_cast<std::int64_t>(value);
}

// The exact decimal of value / unit; nothing if it does not end.
std::optional<std::string> exact_decimal(std::uint64_t value, std::int64_t unit) {
    const auto size = static_cast<std::uint64_t>(unit);
    std::string text = fmt::format("{}", value / size);
    std::uint64_t rest = value % size;
    if (rest != 0) text += '.';
    for (int digits = 0; rest != 0; ++digits) {
        if (digits == 16) return std::nullopt;
        rest *= 10;  // < 8.64 × 10^14
        text += static_cast<char>('0' + rest / size);
        rest %= size;
    }
    return text;
}

struct Magnitude {
    std::string_view sign;
    std::uint64_t value;
};
Magnitude magnitude(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    return value < 0 ? Magnitude{"-", ~bits + 1} : Magnitude{"", bits};
}

std::string unit_pattern(std::span<const Unit> units) {
    std::string names;
    for (const Unit& unit : units)
        names += fmt::format("{}{}", names.empty() ? "" : "|", unit.name);
    std::string pattern = fmt::format("[0-9]+(\\.[0-9]+)? ?({})", names);
    if (!units.front().name.starts_with(dollar_unit)) return fmt::format("^{}$", pattern);
    std::string rest;
    for (const Unit& unit : units) {
        rest += fmt::format("{}{}", rest.empty() ? "" : "|", unit.name.substr(dollar_unit.size()));
    }
    return fmt::format("^({}|\\$[0-9]+(\\.[0-9]+)?({}))$", pattern, rest);
}

}  // namespace

std::string duration_pattern() { return unit_pattern(duration_units); }
std::string price_pattern() { return unit_pattern(price_units); }
std::string egress_price_pattern() { return unit_pattern(egress_price_units); }
std::string bytes_pattern() { return unit_pattern(bytes_units); }
std::string bandwidth_pattern() { return unit_pattern(bandwidth_units); }

Duration parse_duration(std::string_view text, std::string_view where) {
    static constexpr Form form{
        .noun = duration_form,
        .finest = "a duration in whole nanoseconds",
        .largest = "a duration of at most 292 years",
        .units = duration_units,
    };
    return nanoseconds(parse_amount(text, where, form));
}

Price parse_price(std::string_view text, std::string_view where) {
    static constexpr Form form{
        .noun = price_form,
        .finest = "a price in whole billionths of a dollar per hour",
        .largest = "a price of at most 9 billion USD/h",
        .units = price_units,
    };
    return Price::of(parse_amount(text, where, form));
}

Bytes parse_bytes(std::string_view text, std::string_view where) {
    static constexpr Form form{
        .noun = bytes_form,
        .finest = "a size in whole bytes",
        .largest = "a size of at most 9 EB",
        .units = bytes_units,
    };
    return bytes(parse_amount(text, where, form));
}

BytesPerSecond parse_bandwidth(std::string_view text, std::string_view where) {
    static constexpr Form form{
        .noun = bandwidth_form,
        .finest = "a bandwidth in whole bits per second",
        .largest = "a bandwidth of at most 9 Ebit/s",
        .units = bandwidth_units,
    };
    return BytesPerSecond::of(static_cast<double>(parse_amount(text, where, form)) / 8);
}

EgressPrice parse_egress_price(std::string_view text, std::string_view where) {
    static constexpr Form form{
        .noun = egress_price_form,
        .finest = "a price in whole billionths of a dollar per GB",
        .largest = "a price of at most 9 billion USD/GB",
        .units = egress_price_units,
    };
    return EgressPrice::of(parse_amount(text, where, form));
}

std::string format_duration(Duration d) {
    if (d == Duration{}) return "0 s";
    const auto [sign, value] = magnitude(d.raw());
    std::string best;
    bool best_is_whole = false;
    // From small to large: of equals, the larger unit.
    for (const Unit& unit : std::span(duration_units).first<written_durations>()) {
        const std::optional<std::string> number = exact_decimal(value, unit.size);
        if (!number) continue;
        const bool whole = number->find('.') == std::string::npos;
        const std::string text = fmt::format("{}{} {}", sign, *number, unit.name);
        if (best.empty() || text.size() < best.size() ||
            (text.size() == best.size() && (whole || !best_is_whole))) {
            best = text;
            best_is_whole = whole;
        }
    }
    return best;
}

std::string format_price(Price p) {
    const auto [sign, value] = magnitude(p.raw());
    // Nine places always end a billionth.
    return fmt::format("{}{} USD/h", sign, *exact_decimal(value, price_units[0].size));
}

std::string format_dollars(Dollars dollars) {
    const auto [sign, value] = magnitude(dollars.raw());
    constexpr std::uint64_t nano = 1'000'000'000;
    std::string text = fmt::format("{}{}.{:09}", sign, value / nano, value % nano);
    const std::size_t least = text.find('.') + 3;
    while (text.size() > least && text.back() == '0') text.pop_back();
    return text;
}

}  // namespace ukemi
