// timestamp.cpp — the calendar by hand: what C++20 has for it is not in every library yet.
#include "traces/timestamp.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "base/text_scan.hpp"

namespace ukemi {

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t seconds_per_day = 86'400;

bool is_leap(std::int64_t year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int days_in_month(std::int64_t year, int month) {
    constexpr std::array<int, 12> lengths{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && is_leap(year) ? 29 : lengths[static_cast<std::size_t>(month - 1)];
}

// Whole days from 1970-01-01 to the first of January of `year`.
std::int64_t days_before_year(std::int64_t year) {
    const auto leap_years_before = [](std::int64_t y) {
        return (y - 1) / 4 - (y - 1) / 100 + (y - 1) / 400;
    };
    return (year - 1970) * 365 + leap_years_before(year) - leap_years_before(1970);
}

// Exactly `digits` digits at the start of `text`, taken off it; -1 if they are not there.
int take_digits(std::string_view& text, std::size_t digits) {
    if (text.size() < digits) return -1;
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
        if (text[i] < '0' || text[i] > '9') return -1;
        value = value * 10 + (text[i] - '0');
    }
    text.remove_prefix(digits);
    return value;
}

bool take(std::string_view& text, char c) {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
}

// ".123456": nanoseconds, rounded where more digits stand there; 0 if there is no fraction.
std::optional<std::int64_t> take_fraction(std::string_view& text) {
    if (text.empty() || text.front() != '.') return 0;
    std::size_t length = 1;
    while (length < text.size() && text[length] >= '0' && text[length] <= '9') ++length;
    const auto value = parse_decimal(text.substr(0, length), 9, DecimalGrammar::relaxed);
    text.remove_prefix(length);
    return value;
}

// "Z", "+02:00", "-0700" or nothing: seconds that local time is ahead of UTC.
std::optional<std::int64_t> take_offset(std::string_view& text) {
    if (text.empty() || take(text, 'Z')) return 0;
    const bool behind = text.front() == '-';
    if (!take(text, '+') && !take(text, '-')) return std::nullopt;
    const int hours = take_digits(text, 2);
    take(text, ':');
    const int minutes = take_digits(text, 2);
    if (hours < 0 || hours > 14 || minutes < 0 || minutes > 59) return std::nullopt;
    const std::int64_t ahead = hours * 3600 + minutes * 60;
    return behind ? -ahead : ahead;
}

}  // namespace

std::optional<std::int64_t> parse_timestamp(std::string_view text) {
    const int year = take_digits(text, 4);
    if (year < 1970 || year > 2199 || !take(text, '-')) return std::nullopt;
    const int month = take_digits(text, 2);
    if (month < 1 || month > 12 || !take(text, '-')) return std::nullopt;
    const int day = take_digits(text, 2);
    if (day < 1 || day > days_in_month(year, month)) return std::nullopt;
    if (!take(text, 'T') && !take(text, ' ')) return std::nullopt;
    const int hour = take_digits(text, 2);
    if (hour < 0 || hour > 23 || !take(text, ':')) return std::nullopt;
    const int minute = take_digits(text, 2);
    if (minute < 0 || minute > 59 || !take(text, ':')) return std::nullopt;
    const int whole_second = take_digits(text, 2);
    if (whole_second < 0 || whole_second > 59) return std::nullopt;
    const auto fraction = take_fraction(text);
    if (!fraction) return std::nullopt;
    const auto ahead = take_offset(text);
    if (!ahead || !text.empty()) return std::nullopt;

    std::int64_t days = days_before_year(year) + day - 1;
    for (int m = 1; m < month; ++m) days += days_in_month(year, m);
    return (days * seconds_per_day + hour * 3600 + minute * 60 + whole_second - *ahead) * second +
           *fraction;
}

std::string format_timestamp(std::int64_t nanoseconds_since_1970) {
    std::int64_t seconds = nanoseconds_since_1970 / second;
    std::int64_t fraction = nanoseconds_since_1970 % second;
    if (fraction < 0) {
        fraction += second;
        --seconds;
    }
    std::int64_t days = seconds / seconds_per_day;
    std::int64_t rest = seconds % seconds_per_day;
    if (rest < 0) {
        rest += seconds_per_day;
        --days;
    }
    std::int64_t year = 1969;  // an offset can lead one day before 1970
    while (days_before_year(year + 1) <= days) ++year;
    days -= days_before_year(year);
    int month = 1;
    for (; days >= days_in_month(year, month); ++month) days -= days_in_month(year, month);
    std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", year, month, days + 1,
                                   rest / 3600, rest / 60 % 60, rest % 60);
    if (fraction != 0) {
        std::string digits = fmt::format(".{:09}", fraction);
        digits.erase(digits.find_last_not_of('0') + 1);
        text += digits;
    }
    return text + "Z";
}

}  // namespace ukemi
