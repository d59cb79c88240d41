// timestamp.cpp — the calendar is <chrono>'s; reading and writing are done here, because parse()
// and time zones of C++20 are not in every library yet and take more than trace files may hold.
#include "traces/timestamp.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>

#include "base/text_scan.hpp"

namespace ukemi::traces {

namespace {

namespace chrono = std::chrono;

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

// "Z", " UTC", "+02:00", "-0700", "+02" or nothing: how far local time is ahead of UTC.
std::optional<chrono::minutes> take_offset(std::string_view& text) {
    if (text == " UTC" || text == "UTC") text = {};
    if (text.empty() || take(text, 'Z')) return chrono::minutes(0);
    const bool behind = text.front() == '-';
    if (!take(text, '+') && !take(text, '-')) return std::nullopt;
    const int hours = take_digits(text, 2);
    const bool has_colon = take(text, ':');
    const int minutes = text.empty() && !has_colon ? 0 : take_digits(text, 2);
    if (hours < 0 || hours > 14 || minutes < 0 || minutes > 59) return std::nullopt;
    const chrono::minutes ahead(hours * 60 + minutes);
    return behind ? -ahead : ahead;
}

}  // namespace

std::optional<std::int64_t> parse_timestamp(std::string_view text) {
    const int year = take_digits(text, 4);
    if (year < 1970 || year > 2199 || !take(text, '-')) return std::nullopt;
    const int month = take_digits(text, 2);
    if (month < 1 || !take(text, '-')) return std::nullopt;
    const int day = take_digits(text, 2);
    if (day < 1) return std::nullopt;
    const chrono::year_month_day date(chrono::year(year),
                                      chrono::month(static_cast<unsigned>(month)),
                                      chrono::day(static_cast<unsigned>(day)));
    if (!date.ok()) return std::nullopt;
    if (!take(text, 'T') && !take(text, ' ')) return std::nullopt;
    const int hour = take_digits(text, 2);
    if (hour < 0 || hour > 23 || !take(text, ':')) return std::nullopt;
    const int minute = take_digits(text, 2);
    if (minute < 0 || minute > 59) return std::nullopt;
    const bool has_seconds = take(text, ':');
    const int whole_second = has_seconds ? take_digits(text, 2) : 0;
    if (whole_second < 0 || whole_second > 59) return std::nullopt;
    const auto fraction = has_seconds ? take_fraction(text) : 0;
    if (!fraction) return std::nullopt;
    const auto ahead = take_offset(text);
    if (!ahead || !text.empty()) return std::nullopt;

    const chrono::sys_seconds at = chrono::sys_days(date) + chrono::hours(hour) +
                                   chrono::minutes(minute) + chrono::seconds(whole_second) - *ahead;
    return chrono::nanoseconds(at.time_since_epoch()).count() + *fraction;
}

std::string format_timestamp(std::int64_t nanoseconds_since_1970) {
    const chrono::sys_time<chrono::nanoseconds> at{chrono::nanoseconds(nanoseconds_since_1970)};
    const chrono::sys_days day = chrono::floor<chrono::days>(at);
    const chrono::year_month_day date(day);
    const chrono::hh_mm_ss time(at - day);
    std::string text =
        fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                    static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                    time.hours().count(), time.minutes().count(), time.seconds().count());
    if (time.subseconds().count() != 0) {
        std::string digits = fmt::format(".{:09}", time.subseconds().count());
        digits.erase(digits.find_last_not_of('0') + 1);
        text += digits;
    }
    return text + "Z";
}

}  // namespace ukemi::traces
