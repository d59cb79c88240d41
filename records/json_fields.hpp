// json_fields.hpp — reads one JSON object of a log, key by key, and refuses what it does not know.
//
// Complaints are std::invalid_argument with the key; a caller adds file and line. A
// key that is absent leaves its value alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/quantity.hpp"

namespace ukemi::records {

inline constexpr Duration json_time_max = days(36'600);  // a third of what a Duration holds

// A number, or "nan", "inf" or "-inf", which JSON has no numbers for. A loss may be any of them.
nlohmann::json real_json(double value);

class Fields {
public:
    explicit Fields(const nlohmann::json& object);  // keeps a reference

    const nlohmann::json* find(const char* key);
    const nlohmann::json& need(const char* key);

    template <class Integer>
    void integer(const char* key, Integer& value) {
        using Limits = std::numeric_limits<Integer>;
        std::uint64_t bits = 0;
        const auto min = static_cast<std::int64_t>(Limits::min());
        if (read_integer(key, min, static_cast<std::uint64_t>(Limits::max()), bits)) {
            value = static_cast<Integer>(bits);
        }
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
    // Neither negative nor so long that sums of a few could overflow.
    void time(const char* key, Duration& value, Duration most = json_time_max);
    void time(const char* key, Instant& value);
    void price(const char* key, Price& value);  // not negative
    void real(const char* key, double& value);  // as real_json writes it
    void flag(const char* key, bool& value);
    void text(const char* key, std::string& value);
    template <class Enum>
    void name(const char* key, std::span<const std::string_view> names, Enum& value) {
        std::size_t index = 0;
        if (read_name(key, names, index)) value = static_cast<Enum>(index);
    }
    void list(const char* key, const std::function<void(const nlohmann::json&)>& read);

    void finish() const;  // refuses keys that nobody asked for
    [[noreturn]] static void refuse(const char* key, const char* expected);

private:
    // The value, as the bits of a two's complement where it is negative; false if it is absent.
    bool read_integer(const char* key, std::int64_t min, std::uint64_t max, std::uint64_t& bits);
    bool read_name(const char* key, std::span<const std::string_view> names, std::size_t& index);

    const nlohmann::json& object_;
    std::set<std::string> seen_;
};

template <class Enum>
void read_index(Fields& fields, const char* key, Enum& id) {
    auto number = index_of(id);
    fields.integer(key, number);
    id = static_cast<Enum>(number);
}

}  // namespace ukemi::records
