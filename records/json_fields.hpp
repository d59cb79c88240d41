// json_fields.hpp — reads one JSON object of a log, key by key, and refuses what it does not know.
//
// For .cpp files of records/ only: it includes all of nlohmann/json. Complaints are
// std::invalid_argument with the key; whoever knows the file and line adds them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/ids.hpp"
#include "base/quantity.hpp"

namespace ukemi {

inline constexpr Duration json_time_max = days(36'600);  // a third of what a Duration holds

// Reads the keys of one object and refuses those that nobody asked for.
class Fields {
public:
    explicit Fields(const nlohmann::json& object) : object_(object) {
        if (!object.is_object()) throw std::invalid_argument("expected an object");
    }

    const nlohmann::json* find(const char* key) {
        seen_.insert(key);
        const auto found = object_.find(key);
        return found == object_.end() ? nullptr : &*found;
    }
    const nlohmann::json& need(const char* key) {
        const nlohmann::json* found = find(key);
        if (found == nullptr) throw std::invalid_argument(fmt::format("missing \"{}\"", key));
        return *found;
    }
    // Leaves the value alone if the key is absent.
    template <class Integer>
    void integer(const char* key, Integer& value) {
        const nlohmann::json* found = find(key);
        if (found == nullptr) return;
        if (!found->is_number_integer()) refuse(key, "an integer");
        const bool fits = found->is_number_unsigned()
                              ? std::in_range<Integer>(found->get<std::uint64_t>())
                              : std::in_range<Integer>(found->get<std::int64_t>());
        if (!fits) refuse(key, "a smaller number");
        value = found->get<Integer>();
    }
    template <class Integer>
    void integer_from(const char* key, Integer min, Integer& value) {
        integer(key, value);
        if (value < min) refuse(key, min == 0 ? "no negative number" : "a number above zero");
    }
    template <class Dimension>
    void quantity(const char* key, Quantity<Dimension, std::int64_t>& value) {
        std::int64_t raw = value.raw();
        integer(key, raw);
        value = Quantity<Dimension, std::int64_t>::of(raw);
    }
    void instant(const char* key, Instant& value) {
        Duration since = value.since_start();
        quantity(key, since);
        value = Instant::at(since);
    }
    // Neither negative nor so long that sums of a few could overflow.
    void time(const char* key, Duration& value, Duration most = json_time_max) {
        quantity(key, value);
        if (value < Duration{}) refuse(key, "no negative time");
        if (value > most) refuse(key, "a shorter time");
    }
    void time(const char* key, Instant& value) {
        Duration since = value.since_start();
        time(key, since);
        value = Instant::at(since);
    }
    void price(const char* key, Price& value) {
        quantity(key, value);
        if (value < Price{}) refuse(key, "no negative price");
    }
    void real(const char* key, double& value) {
        const nlohmann::json* found = find(key);
        if (found == nullptr) return;
        if (!found->is_number()) refuse(key, "a number");
        value = found->get<double>();
    }
    void flag(const char* key, bool& value) {
        const nlohmann::json* found = find(key);
        if (found == nullptr) return;
        if (!found->is_boolean()) refuse(key, "true or false");
        value = found->get<bool>();
    }
    void text(const char* key, std::string& value) {
        const nlohmann::json* found = find(key);
        if (found == nullptr) return;
        if (!found->is_string()) refuse(key, "text");
        value = found->get<std::string>();
    }
    template <class Enum>
    void name(const char* key, std::span<const std::string_view> names, Enum& value) {
        std::string text_value;
        if (find(key) == nullptr) return;
        text(key, text_value);
        const auto found = std::ranges::find(names, text_value);
        if (found == names.end()) refuse(key, "a known name");
        value = static_cast<Enum>(found - names.begin());
    }
    template <class Read>
    void list(const char* key, Read read) {
        const nlohmann::json* found = find(key);
        if (found == nullptr) return;
        if (!found->is_array()) refuse(key, "a list");
        for (const nlohmann::json& element : *found) read(element);
    }
    void finish() const {
        for (const auto& item : object_.items()) {
            if (!seen_.contains(item.key())) {
                throw std::invalid_argument(fmt::format("unknown key \"{}\"", item.key()));
            }
        }
    }
    [[noreturn]] static void refuse(const char* key, const char* expected) {
        throw std::invalid_argument(fmt::format("\"{}\": expected {}", key, expected));
    }

private:
    const nlohmann::json& object_;
    std::set<std::string> seen_;
};

template <class Enum>
void read_index(Fields& fields, const char* key, Enum& id) {
    auto number = index_of(id);
    fields.integer(key, number);
    id = static_cast<Enum>(number);
}

// Leaves out what says nothing.
template <class Value>
void put(nlohmann::json& object, const char* key, const Value& value, const Value& nothing = {}) {
    if (value != nothing) object[key] = value;
}

}  // namespace ukemi
