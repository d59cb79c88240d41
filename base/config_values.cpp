// config_values.cpp — what a value must be, what is said where it is not, and what stands in for it
// while other mistakes are looked for; units are unit_text's.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/complaint_list.hpp"
#include "base/config_reader.hpp"
#include "base/json_document.hpp"
#include "base/key_notes.hpp"
#include "base/plain_text.hpp"

namespace ukemi {

using nlohmann::json;

namespace {

std::string integer_range(std::int64_t min, std::int64_t max) {
    constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
    constexpr auto highest = std::numeric_limits<std::int64_t>::max();
    if (min == lowest && max == highest) return "an integer";
    if (max == highest) return fmt::format("an integer of at least {}", min);
    if (min == lowest) return fmt::format("an integer of at most {}", max);
    return fmt::format("an integer from {} to {}", min, max);
}

std::string number_range(double min, double max) {
    constexpr double highest = std::numeric_limits<double>::max();
    if (min <= -highest && max >= highest) return "a number";
    if (max >= highest) return fmt::format("a number of at least {}", min);
    if (min <= -highest) return fmt::format("a number of at most {}", max);
    return fmt::format("a number from {} to {}", min, max);
}

bool in_range(double value, double min, double max) {
    return std::isfinite(value) && value >= min && value <= max;
}

// Why it is no such number; empty if it is.
std::string number_problem(const json& value, double min, double max) {
    if (value.is_number() && in_range(value.get<double>(), min, max)) return {};
    return fmt::format("expected {}, found {}", number_range(min, max), describe(value));
}

// Why it is no text for a name or a value; empty if it is. Names end up on terminals, which obey
// control characters, and in tables of one line a row.
std::string text_problem(const json& value) {
    if (!value.is_string()) return fmt::format("expected text, found {}", describe(value));
    const std::string text = value.get<std::string>();
    if (one_line(text) == text) return {};
    return fmt::format("expected text without control characters, found {}", ukemi::quoted(text));
}

KeyNote integer_note(std::int64_t min, std::int64_t max) {
    return {.kind = KeyKind::integer,
            .least = static_cast<double>(min),
            .most = static_cast<double>(max)};
}

KeyNote number_note(double min, double max) {
    return {.kind = KeyKind::number, .least = min, .most = max};
}

KeyExplorer* explorer_of(const ConfigReader& section) { return KeyExplorer::of(section.file()); }

// Required unless there is a default; one outside the bounds of its key, which is null here, means
// "not set".
void note(const ConfigReader& section, std::string_view key, KeyNote note,
          const json* otherwise = nullptr) {
    KeyExplorer* const explorer = explorer_of(section);
    if (explorer == nullptr) return;
    note.required = otherwise == nullptr;
    if (otherwise != nullptr && !otherwise->is_null()) note.otherwise = otherwise->dump();
    explorer->note(fmt::format("{}/{}", section.path(), pointer_token(key)), std::move(note));
}

KeyNote name_note(const ConfigReader& section, std::span<const std::string_view> names) {
    KeyNote note{.kind = KeyKind::name};
    if (explorer_of(section) != nullptr) note.names.assign(names.begin(), names.end());
    return note;
}

// The quantity, or what stands in for one that cannot be read; for one that is missing, too.
template <class Value>
Value quantity_of(const ConfigReader& section, const std::string& text, const std::string& place,
                  Value (*parse)(std::string_view, std::string_view), Value stand_in) {
    if (text.empty()) return stand_in;
    try {
        return parse(text, place);
    } catch (const InputError& error) {
        complain(section, error);
        return stand_in;
    }
}

}  // namespace

// ---- lists -------------------------------------------------------------------------------------

std::vector<double> ConfigReader::numbers(std::string_view key, double min, double max) {
    KeyNote noted = number_note(min, max);
    noted.listed = true;
    note(*this, key, std::move(noted));
    const json& list = find(key);
    std::vector<double> found;
    if (!list.is_array()) {
        if (list.is_discarded()) return found;
        complain(*this, key, fmt::format("expected a list of numbers, found {}", describe(list)));
        return found;
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string problem = number_problem(list[i], min, max);
        if (problem.empty()) {
            found.push_back(list[i].get<double>());
        } else {
            complain(*this, InputError(file(), fmt::format("{}/{}", path_of(key), i), problem));
        }
    }
    return found;
}

std::vector<std::string> ConfigReader::texts(std::string_view key) {
    note(*this, key, {.listed = true});
    const json& list = find(key);
    std::vector<std::string> found;
    if (!list.is_array()) {
        if (list.is_discarded()) return found;
        complain(*this, key, fmt::format("expected a list of texts, found {}", describe(list)));
        return found;
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string problem = text_problem(list[i]);
        if (problem.empty()) {
            found.push_back(list[i].get<std::string>());
        } else {
            complain(*this, InputError(file(), fmt::format("{}/{}", path_of(key), i), problem));
        }
    }
    return found;
}

// ---- texts and names ---------------------------------------------------------------------------

std::string ConfigReader::checked_text(std::string_view key, const json& value) const {
    if (value.is_discarded()) return {};
    const std::string problem = text_problem(value);
    if (problem.empty()) return value.get<std::string>();
    complain(*this, key, problem);
    return {};
}

std::string ConfigReader::text(std::string_view key) {
    note(*this, key, {});
    return checked_text(key, find(key));
}

std::string ConfigReader::text(std::string_view key, std::string_view otherwise) {
    const json noted = otherwise;
    note(*this, key, {}, &noted);
    const json* const value = find_or_note(key, noted);
    return value == nullptr ? std::string(otherwise) : checked_text(key, *value);
}

// A name that is nearly right stands in for what was meant. One that cannot be guessed is thrown:
// which keys there are beside it depends on it.
std::string ConfigReader::checked_name(std::string_view key, const json& value,
                                       std::span<const std::string_view> names) const {
    const std::string name = value.is_string() ? value.get<std::string>() : "";
    if (KeyExplorer* const explorer = explorer_of(*this)) {
        return explorer->name_at(path_of(key), names, name);
    }
    if (value.is_discarded()) fail("", fmt::format("missing key {}", ukemi::quoted(key)));
    if (value.is_string() && std::ranges::find(names, name) != names.end()) return name;
    const std::string problem = fmt::format(
        "expected one of {}, found {}{}", fmt::join(names, ", "),
        value.is_string() ? ukemi::quoted(name) : describe(value), did_you_mean(name, names));
    const std::string_view nearest = nearest_name(name, names);
    if (nearest.empty()) fail(key, problem);
    complain(*this, key, problem);
    return std::string(nearest);
}

std::string ConfigReader::one_of(std::string_view key, std::span<const std::string_view> names) {
    note(*this, key, name_note(*this, names));
    return checked_name(key, find(key), names);
}

std::string ConfigReader::one_of(std::string_view key, std::span<const std::string_view> names,
                                 std::string_view otherwise) {
    const bool fits = std::ranges::find(names, otherwise) != names.end();
    const json noted = fits ? json(otherwise) : json();
    note(*this, key, name_note(*this, names), &noted);
    const json* const value = find_or_note(key, noted);
    if (value != nullptr) return checked_name(key, *value, names);
    return explorer_of(*this) == nullptr ? std::string(otherwise)
                                         : checked_name(key, json(otherwise), names);
}

std::string ConfigReader::name_or_file(std::string_view key,
                                       std::span<const std::string_view> names,
                                       std::string_view file_ending) {
    KeyNote noted = name_note(*this, names);
    noted.file_ending = file_ending;
    note(*this, key, std::move(noted));
    const json& value = find(key);
    const bool is_file = value.is_string() && value.get<std::string>().ends_with(file_ending);
    return is_file ? value.get<std::string>() : checked_name(key, value, names);
}

bool ConfigReader::flag(std::string_view key, bool otherwise) {
    const json noted = otherwise;
    note(*this, key, {.kind = KeyKind::flag}, &noted);
    const json* const value = find_or_note(key, noted);
    if (value == nullptr) return otherwise;
    if (value->is_boolean()) return value->get<bool>();
    complain(*this, key, fmt::format("expected true or false, found {}", describe(*value)));
    return otherwise;
}

// ---- numbers -----------------------------------------------------------------------------------

std::int64_t ConfigReader::checked_integer(std::string_view key, const json& value,
                                           std::int64_t min, std::int64_t max) const {
    const std::int64_t stand_in = std::clamp<std::int64_t>(1, min, std::max(min, max));
    if (value.is_discarded()) return stand_in;
    // get<int64_t>() alone would turn 2.7 into 2, true into 1 and 2^64 − 1 into −1.
    const bool fits =
        value.is_number_integer() &&
        (!value.is_number_unsigned() || std::in_range<std::int64_t>(value.get<std::uint64_t>()));
    const std::int64_t found = fits ? value.get<std::int64_t>() : 0;
    if (!fits || found < min || found > max) {
        complain(*this, key,
                 fmt::format("expected {}, found {}", integer_range(min, max), describe(value)));
        return stand_in;
    }
    return found;
}

std::int64_t ConfigReader::integer(std::string_view key, std::int64_t min, std::int64_t max) {
    note(*this, key, integer_note(min, max));
    return checked_integer(key, find(key), min, max);
}

std::int64_t ConfigReader::integer(std::string_view key, std::int64_t min, std::int64_t max,
                                   std::int64_t otherwise) {
    const bool fits = min <= otherwise && otherwise <= max;
    const json noted = fits ? json(otherwise) : json();
    note(*this, key, integer_note(min, max), &noted);
    const json* const value = find_or_note(key, noted);
    return value == nullptr ? otherwise : checked_integer(key, *value, min, max);
}

double ConfigReader::checked_number(std::string_view key, const json& value, double min,
                                    double max) const {
    const double stand_in = std::clamp(1.0, min, std::max(min, max));
    if (value.is_discarded()) return stand_in;
    const std::string problem = number_problem(value, min, max);
    if (problem.empty()) return value.get<double>();
    complain(*this, key, problem);
    return stand_in;
}

double ConfigReader::number(std::string_view key, double min, double max) {
    note(*this, key, number_note(min, max));
    return checked_number(key, find(key), min, max);
}

double ConfigReader::number(std::string_view key, double min, double max, double otherwise) {
    const bool fits = in_range(otherwise, min, max);
    const json noted = fits ? json(otherwise) : json();
    note(*this, key, number_note(min, max), &noted);
    const json* const value = find_or_note(key, noted);
    return value == nullptr ? otherwise : checked_number(key, *value, min, max);
}

// ---- quantities --------------------------------------------------------------------------------

// Empty for what is missing or no text, once that is said.
std::string ConfigReader::checked_quantity(std::string_view key, const json& value,
                                           std::string_view form) const {
    if (value.is_discarded()) return {};
    if (value.is_string() && !value.get_ref<const std::string&>().empty()) {
        return value.get<std::string>();
    }
    complain(*this, key, fmt::format("expected {}, found {}", form, describe(value)));
    return {};
}

// The parsers take one name for the place; this is how InputError would write file and path.
std::string ConfigReader::place_of(std::string_view key) const {
    return fmt::format("{}: at {}", file(), path_of(key));
}

Duration ConfigReader::duration(std::string_view key) {
    note(*this, key, {.kind = KeyKind::duration});
    return quantity_of(*this, checked_quantity(key, find(key), duration_form), place_of(key),
                       parse_duration, hours(1));
}

Duration ConfigReader::duration(std::string_view key, Duration otherwise) {
    const bool fits = otherwise >= Duration{};
    const json noted = fits ? json(format_duration(otherwise)) : json();
    note(*this, key, {.kind = KeyKind::duration}, &noted);
    const json* const value = find_or_note(key, noted);
    if (value == nullptr) return otherwise;
    return quantity_of(*this, checked_quantity(key, *value, duration_form), place_of(key),
                       parse_duration, otherwise);
}

Price ConfigReader::price(std::string_view key) {
    note(*this, key, {.kind = KeyKind::price});
    return quantity_of(*this, checked_quantity(key, find(key), price_form), place_of(key),
                       parse_price, dollars_per_hour(1));
}

Price ConfigReader::price(std::string_view key, Price otherwise) {
    const bool fits = otherwise >= Price{};
    const json noted = fits ? json(format_price(otherwise)) : json();
    note(*this, key, {.kind = KeyKind::price}, &noted);
    const json* const value = find_or_note(key, noted);
    if (value == nullptr) return otherwise;
    return quantity_of(*this, checked_quantity(key, *value, price_form), place_of(key), parse_price,
                       otherwise);
}

Bytes ConfigReader::bytes(std::string_view key) {
    note(*this, key, {.kind = KeyKind::bytes});
    return quantity_of(*this, checked_quantity(key, find(key), bytes_form), place_of(key),
                       parse_bytes, Bytes::of(1'000'000));
}

BytesPerSecond ConfigReader::bandwidth(std::string_view key) {
    note(*this, key, {.kind = KeyKind::bandwidth});
    return quantity_of(*this, checked_quantity(key, find(key), bandwidth_form), place_of(key),
                       parse_bandwidth, BytesPerSecond::of(1e9));
}

EgressPrice ConfigReader::egress_price(std::string_view key) {
    note(*this, key, {.kind = KeyKind::egress_price});
    return quantity_of(*this, checked_quantity(key, find(key), egress_price_form), place_of(key),
                       parse_egress_price, EgressPrice{});
}

double ConfigReader::rate(std::string_view key, std::string_view unit) {
    note(*this, key, {.kind = KeyKind::rate, .unit = std::string(unit)});
    constexpr double stand_in = 100;
    const std::string form = fmt::format("a rate above 0 such as \"120 {}\"", unit);
    const std::string text = checked_quantity(key, find(key), form);
    if (text.empty()) return stand_in;
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    std::string_view found_unit(rest, static_cast<std::size_t>(end - rest));
    if (found_unit.starts_with(' ')) found_unit.remove_prefix(1);
    // from_chars also reads "inf" and "nan"; an underflow is an error there.
    if (error != std::errc{} || !std::isfinite(value) || !(value > 0) || found_unit != unit) {
        complain(*this, key, fmt::format("expected {}, found {}", form, ukemi::quoted(text)));
        return stand_in;
    }
    return value;
}

}  // namespace ukemi
