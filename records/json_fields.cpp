#include "records/json_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace ukemi::records {

using nlohmann::json;

json real_json(double value) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Fields::Fields(const json& object) : object_(object) {
    if (!object.is_object()) throw std::invalid_argument("expected an object");
}

const json* Fields::find(const char* key) {
    seen_.insert(key);
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
}

const json& Fields::need(const char* key) {
    const json* found = find(key);
    if (found == nullptr) throw std::invalid_argument(fmt::format("missing \"{}\"", key));
    return *found;
}

bool Fields::read_integer(const char* key, std::int64_t min, std::uint64_t max,
                          std::uint64_t& bits) {
    const json* found = find(key);
    if (found == nullptr) return false;
    if (!found->is_number_integer()) refuse(key, "an integer");
    // The parser holds what has no minus sign as unsigned, but values made by code may be signed.
    const bool negative = !found->is_number_unsigned() && found->get<std::int64_t>() < 0;
    bits = negative ? static_cast<std::uint64_t>(found->get<std::int64_t>())
                    : found->get<std::uint64_t>();
    const bool fits = negative ? found->get<std::int64_t>() >= min : bits <= max;
    if (!fits) refuse(key, "a smaller number");
    return true;
}

bool Fields::read_name(const char* key, std::span<const std::string_view> names,
                       std::size_t& index) {
    if (find(key) == nullptr) return false;
    std::string name;
    text(key, name);
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) refuse(key, "a known name");
    index = static_cast<std::size_t>(found - names.begin());
    return true;
}

void Fields::time(const char* key, Duration& value, Duration most) {
    if (find(key) == nullptr) return;  // the default may mean "never"
    quantity(key, value);
    if (value < Duration{}) refuse(key, "no negative time");
    if (value > most) refuse(key, "a shorter time");
}

void Fields::time(const char* key, Instant& value) {
    Duration since = value.since_start();
    time(key, since);
    value = Instant::at(since);
}

void Fields::price(const char* key, Price& value) {
    quantity(key, value);
    if (value < Price{}) refuse(key, "no negative price");
}

void Fields::real(const char* key, double& value) {
    const json* found = find(key);
    if (found == nullptr) return;
    if (found->is_number()) {
        value = found->get<double>();
        return;
    }
    const auto is = [&](std::string_view name) { return *found == name; };
    constexpr double infinite = std::numeric_limits<double>::infinity();
    if (!is("nan") && !is("inf") && !is("-inf")) refuse(key, "a number");
    value = is("nan") ? std::numeric_limits<double>::quiet_NaN() : is("inf") ? infinite : -infinite;
}

void Fields::flag(const char* key, bool& value) {
    const json* found = find(key);
    if (found == nullptr) return;
    if (!found->is_boolean()) refuse(key, "true or false");
    value = found->get<bool>();
}

void Fields::text(const char* key, std::string& value) {
    const json* found = find(key);
    if (found == nullptr) return;
    if (!found->is_string()) refuse(key, "text");
    value = found->get<std::string>();
}

void Fields::list(const char* key, const std::function<void(const json&)>& read) {
    const json* found = find(key);
    if (found == nullptr) return;
    if (!found->is_array()) refuse(key, "a list");
    for (const json& element : *found) read(element);
}

void Fields::finish() const {
    for (const auto& item : object_.items()) {
        if (!seen_.contains(item.key())) {
            throw std::invalid_argument(fmt::format("unknown key \"{}\"", item.key()));
        }
    }
}

void Fields::refuse(const char* key, const char* expected) {
    throw std::invalid_argument(fmt::format("\"{}\": expected {}", key, expected));
}

}  // namespace ukemi::records
