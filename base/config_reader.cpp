// config_reader.cpp — the reader's questions; the tree itself is json_document's, the units are
// unit_text's.
#include "base/config_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_document.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "base/unit_text.hpp"

namespace ukemi {

using nlohmann::json;

namespace {

constexpr std::size_t config_bytes_max = std::size_t{16} << 20;

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

}  // namespace

struct ConfigReader::Document {
    std::string file;
    json root;      // as written: questions such as has() are about this one
    json resolved;  // the same, and every default that was used
};

ConfigOverride parse_override(std::string_view argument) {
    const std::size_t equals = argument.find('=');
    if (!argument.starts_with('/') || equals == std::string_view::npos) {
        throw InputError(
            "--set", "",
            fmt::format("expected /json/pointer=VALUE, found {}", ukemi::quoted(argument)));
    }
    ConfigOverride set;
    set.pointer = argument.substr(0, equals);
    set.value = argument.substr(equals + 1);
    return set;
}

ConfigReader::ConfigReader(std::shared_ptr<Document> document, const json& node, std::string path)
    : document_(std::move(document)), node_(&node), path_(std::move(path)) {
    if (!node.is_object()) {
        fail("", fmt::format("expected an object, found {}", describe(node)));
    }
}

ConfigReader ConfigReader::from_file(const std::filesystem::path& file,
                                     std::span<const ConfigOverride> overrides) {
    return from_text(read_file(file, config_bytes_max), file.string(), overrides);
}

ConfigReader ConfigReader::from_text(std::string_view text, std::string_view file,
                                     std::span<const ConfigOverride> overrides) {
    if (text.size() > config_bytes_max) {
        throw InputError(
            file, "",
            fmt::format("expected at most {} bytes, found {}", config_bytes_max, text.size()));
    }
    auto document = std::make_shared<Document>();
    document->file = file;
    document->root = parse_json(text, file);
    for (const ConfigOverride& set : overrides) {
        apply_override(document->root, set.pointer, set.value, set.option);
    }
    document->resolved = document->root;
    const json& root = document->root;
    return ConfigReader(std::move(document), root, "");
}

// ---- finding -----------------------------------------------------------------------------------

const json& ConfigReader::find(std::string_view key) {
    const auto found = node_->find(key);
    if (found == node_->end()) {
        std::vector<std::string_view> unread;
        for (const auto& item : node_->items()) {
            if (std::ranges::find(read_keys_, item.key()) == read_keys_.end()) {
                unread.push_back(item.key());
            }
        }
        // The key may be there under a misspelt name; that name must not read as the right one.
        const std::string_view nearest = nearest_name(key, unread);
        fail("", fmt::format(
                     "missing key {}{}", ukemi::quoted(key),
                     nearest.empty() ? "" : fmt::format("; there is {}", ukemi::quoted(nearest))));
    }
    read_keys_.emplace_back(key);
    return *found;
}

// What is written under an optional key; null, and the default in the resolved document, if
// nothing is. A null default is not noted.
const json* ConfigReader::find_or_note(std::string_view key, const json& otherwise) {
    if (node_->contains(key)) return &find(key);
    read_keys_.emplace_back(key);
    if (!otherwise.is_null()) {
        document_->resolved[json::json_pointer(path_of(key))] = otherwise;
    }
    return nullptr;
}

ConfigReader ConfigReader::object(std::string_view key) {
    const json& node = find(key);
    return ConfigReader(document_, node, path_of(key));
}

std::optional<ConfigReader> ConfigReader::object_if_present(std::string_view key) {
    const json* const node = find_or_note(key, nullptr);
    if (node == nullptr) return std::nullopt;
    return ConfigReader(document_, *node, path_of(key));
}

std::vector<ConfigReader> ConfigReader::objects(std::string_view key) {
    const json& list = find(key);
    if (!list.is_array()) {
        fail(key, fmt::format("expected a list of objects, found {}", describe(list)));
    }
    std::vector<ConfigReader> readers;
    for (std::size_t i = 0; i < list.size(); ++i) {
        readers.push_back(ConfigReader(document_, list[i], fmt::format("{}/{}", path_of(key), i)));
    }
    return readers;
}

std::vector<double> ConfigReader::numbers(std::string_view key, double min, double max) {
    const json& list = find(key);
    if (!list.is_array()) {
        fail(key, fmt::format("expected a list of numbers, found {}", describe(list)));
    }
    std::vector<double> found;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string problem = number_problem(list[i], min, max);
        if (!problem.empty()) {
            throw InputError(file(), fmt::format("{}/{}", path_of(key), i), problem);
        }
        found.push_back(list[i].get<double>());
    }
    return found;
}

std::vector<std::string> ConfigReader::texts(std::string_view key) {
    const json& list = find(key);
    if (!list.is_array()) {
        fail(key, fmt::format("expected a list of texts, found {}", describe(list)));
    }
    std::vector<std::string> found;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string problem = text_problem(list[i]);
        if (!problem.empty()) {
            throw InputError(file(), fmt::format("{}/{}", path_of(key), i), problem);
        }
        found.push_back(list[i].get<std::string>());
    }
    return found;
}

std::vector<std::string> ConfigReader::keys() const {
    std::vector<std::string> found;
    for (const auto& item : node_->items()) found.push_back(item.key());
    return found;  // json sorts its keys by their bytes
}

// ---- values ------------------------------------------------------------------------------------

std::string ConfigReader::checked_text(std::string_view key, const json& value) const {
    const std::string problem = text_problem(value);
    if (!problem.empty()) fail(key, problem);
    return value.get<std::string>();
}

std::string ConfigReader::text(std::string_view key) { return checked_text(key, find(key)); }

std::string ConfigReader::text(std::string_view key, std::string_view otherwise) {
    const json* const value = find_or_note(key, otherwise);
    return value == nullptr ? std::string(otherwise) : checked_text(key, *value);
}

std::string ConfigReader::checked_name(std::string_view key, const json& value,
                                       std::span<const std::string_view> names) const {
    std::string name = value.is_string() ? value.get<std::string>() : "";
    if (!value.is_string() || std::ranges::find(names, name) == names.end()) {
        fail(key, fmt::format("expected one of {}, found {}{}", fmt::join(names, ", "),
                              value.is_string() ? ukemi::quoted(name) : describe(value),
                              did_you_mean(name, names)));
    }
    return name;
}

std::string ConfigReader::one_of(std::string_view key, std::span<const std::string_view> names) {
    return checked_name(key, find(key), names);
}

std::string ConfigReader::one_of(std::string_view key, std::span<const std::string_view> names,
                                 std::string_view otherwise) {
    const bool fits = std::ranges::find(names, otherwise) != names.end();
    const json* const value = find_or_note(key, fits ? json(otherwise) : json());
    return value == nullptr ? std::string(otherwise) : checked_name(key, *value, names);
}

bool ConfigReader::flag(std::string_view key, bool otherwise) {
    const json* const value = find_or_note(key, otherwise);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) {
        fail(key, fmt::format("expected true or false, found {}", describe(*value)));
    }
    return value->get<bool>();
}

std::int64_t ConfigReader::checked_integer(std::string_view key, const json& value,
                                           std::int64_t min, std::int64_t max) const {
    // get<int64_t>() alone would turn 2.7 into 2, true into 1 and 2^64 − 1 into −1.
    const bool fits =
        value.is_number_integer() &&
        (!value.is_number_unsigned() || std::in_range<std::int64_t>(value.get<std::uint64_t>()));
    const std::int64_t found = fits ? value.get<std::int64_t>() : 0;
    if (!fits || found < min || found > max) {
        fail(key, fmt::format("expected {}, found {}", integer_range(min, max), describe(value)));
    }
    return found;
}

std::int64_t ConfigReader::integer(std::string_view key, std::int64_t min, std::int64_t max) {
    return checked_integer(key, find(key), min, max);
}

std::int64_t ConfigReader::integer(std::string_view key, std::int64_t min, std::int64_t max,
                                   std::int64_t otherwise) {
    const bool fits = min <= otherwise && otherwise <= max;
    const json* const value = find_or_note(key, fits ? json(otherwise) : json());
    return value == nullptr ? otherwise : checked_integer(key, *value, min, max);
}

double ConfigReader::checked_number(std::string_view key, const json& value, double min,
                                    double max) const {
    const std::string problem = number_problem(value, min, max);
    if (!problem.empty()) fail(key, problem);
    return value.get<double>();
}

double ConfigReader::number(std::string_view key, double min, double max) {
    return checked_number(key, find(key), min, max);
}

double ConfigReader::number(std::string_view key, double min, double max, double otherwise) {
    const bool fits = in_range(otherwise, min, max);
    const json* const value = find_or_note(key, fits ? json(otherwise) : json());
    return value == nullptr ? otherwise : checked_number(key, *value, min, max);
}

// ---- quantities --------------------------------------------------------------------------------

std::string ConfigReader::checked_quantity(std::string_view key, const json& value,
                                           std::string_view form) const {
    if (!value.is_string()) fail(key, fmt::format("expected {}, found {}", form, describe(value)));
    return value.get<std::string>();
}

// The parsers below take one name for the place; this is how InputError would write file and path.
std::string ConfigReader::place_of_key(std::string_view key) const {
    return fmt::format("{}: at {}", file(), path_of(key));
}

Duration ConfigReader::duration(std::string_view key) {
    return parse_duration(checked_quantity(key, find(key), duration_form), place_of_key(key));
}

Duration ConfigReader::duration(std::string_view key, Duration otherwise) {
    const bool fits = otherwise >= Duration{};
    const json noted = fits ? json(format_duration(otherwise)) : json();
    return find_or_note(key, noted) == nullptr ? otherwise : duration(key);
}

Price ConfigReader::price(std::string_view key) {
    return parse_price(checked_quantity(key, find(key), price_form), place_of_key(key));
}

Bytes ConfigReader::bytes(std::string_view key) {
    return parse_bytes(checked_quantity(key, find(key), bytes_form), place_of_key(key));
}

BytesPerSecond ConfigReader::bandwidth(std::string_view key) {
    return parse_bandwidth(checked_quantity(key, find(key), bandwidth_form), place_of_key(key));
}

EgressPrice ConfigReader::egress_price(std::string_view key) {
    return parse_egress_price(checked_quantity(key, find(key), egress_price_form),
                              place_of_key(key));
}

Price ConfigReader::price(std::string_view key, Price otherwise) {
    const bool fits = otherwise >= Price{};
    const json noted = fits ? json(format_price(otherwise)) : json();
    return find_or_note(key, noted) == nullptr ? otherwise : price(key);
}

double ConfigReader::rate(std::string_view key, std::string_view unit) {
    const std::string form = fmt::format("a rate above 0 such as \"120 {}\"", unit);
    const std::string text = checked_quantity(key, find(key), form);
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    std::string_view found_unit(rest, static_cast<std::size_t>(end - rest));
    if (found_unit.starts_with(' ')) found_unit.remove_prefix(1);
    // from_chars also reads "inf" and "nan"; an underflow is an error there.
    if (error != std::errc{} || !std::isfinite(value) || !(value > 0) || found_unit != unit) {
        fail(key, fmt::format("expected {}, found {}", form, ukemi::quoted(text)));
    }
    return value;
}

// ---- the rest ----------------------------------------------------------------------------------

bool ConfigReader::has(std::string_view key) {
    asked_keys_.emplace_back(key);
    return node_->contains(key);
}

bool ConfigReader::is_object(std::string_view key) {
    return has(key) && node_->at(std::string(key)).is_object();
}

void ConfigReader::finish() const {
    for (const auto& item : node_->items()) {
        const std::string& key = item.key();
        if (std::ranges::find(read_keys_, key) != read_keys_.end()) continue;
        std::vector<std::string_view> known(read_keys_.begin(), read_keys_.end());
        known.insert(known.end(), asked_keys_.begin(), asked_keys_.end());
        std::erase(known, key);  // asked for and not read: it has no use here
        fail("", fmt::format("unknown key {}{}", ukemi::quoted(key), did_you_mean(key, known)));
    }
}

void ConfigReader::fail(std::string_view key, std::string_view problem) const {
    const std::string path = key.empty() ? path_ : path_of(key);
    throw InputError(document_->file, path.empty() ? "/" : path, problem);
}

std::string ConfigReader::object_text() const { return node_->dump(); }

const std::string& ConfigReader::file() const { return document_->file; }

std::string ConfigReader::path_of(std::string_view key) const {
    return fmt::format("{}/{}", path_, pointer_token(key));
}

std::string ConfigReader::resolved() const { return document_->resolved.dump(2); }

}  // namespace ukemi
