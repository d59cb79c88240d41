// json_record.hpp — structs as JSON and back, by a table with a line for each member.
//
// A struct has JSON by specialising `json_table` with a tuple of lines made by `always` and
// `unless_default`. How a member looks follows from its type: integers and quantities as integers,
// doubles as real_json writes them, enumerators by name, ids as numbers, other structs by their
// own tables, lists element by element. A key that is absent leaves the default.
#pragma once

#include <concepts>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "base/field_table.hpp"
#include "policies/policy.hpp"
#include "records/json_fields.hpp"

namespace ukemi::records {

enum class ReadRange : std::uint8_t { any, not_negative, positive };  // of what is read

template <class Record, class Value>
struct JsonLine {
    const char* key;
    Value Record::*member;
    ReadRange range;
    Written written;
};

template <class Record, class Value>
constexpr JsonLine<Record, Value> always(const char* key, Value Record::*member,
                                         ReadRange range = ReadRange::any) {
    return {key, member, range, Written::always};
}
template <class Record, class Value>
constexpr JsonLine<Record, Value> unless_default(const char* key, Value Record::*member,
                                                 ReadRange range = ReadRange::any) {
    return {key, member, range, Written::unless_default};
}

template <class Record>
inline constexpr std::nullptr_t json_table = nullptr;
template <class Value>
concept HasJsonTable = !std::same_as<decltype(json_table<Value>), const std::nullptr_t>;

inline std::span<const std::string_view> names_of(policies::Market) {
    return policies::market_names();
}
inline std::span<const std::string_view> names_of(policies::Synchronisation) {
    return policies::synchronisation_names();
}
inline std::span<const std::string_view> names_of(policies::Collective) {
    return policies::collective_names();
}
inline std::span<const std::string_view> names_of(policies::Codec) {
    return policies::codec_names();
}
inline std::span<const std::string_view> names_of(policies::JobPhase) {
    return policies::job_phase_names;
}
inline std::span<const std::string_view> names_of(policies::TransitionPhase) {
    return policies::transition_phase_names;
}

// ---- writing ----------------------------------------------------------------------------------

// Json is a parameter so that this header need not include what it is.
template <HasJsonTable Record, class Json = nlohmann::json>
Json record_json(const Record& record);

template <class Value, class Json = nlohmann::json>
Json value_json(const Value& value) {
    if constexpr (HasJsonTable<Value>) {
        return record_json(value);
    } else if constexpr (requires { names_of(value); }) {
        return names_of(value)[static_cast<std::size_t>(value)];
    } else if constexpr (std::is_enum_v<Value>) {
        return index_of(value);
    } else if constexpr (requires { value.raw(); }) {
        return value.raw();
    } else if constexpr (std::same_as<Value, double>) {
        return real_json(value);
    } else if constexpr (requires { value.begin(); }) {
        Json list = Json::array();
        for (const auto& element : value) list.push_back(value_json(element));
        return list;
    } else {
        return value;
    }
}

template <class Value, class Json>
void write_value(Json& object, const char* key, const Value& value, const Value& otherwise,
                 Written written) {
    if (written == Written::always || value != otherwise) object[key] = value_json(value);
}

template <class Record>
const Record& usual() {  // its defaults
    static const Record record{};
    return record;
}

template <HasJsonTable Record, class Json>
Json record_json(const Record& record) {
    Json object = Json::object();
    for_each_line(json_table<Record>, [&](const auto& line) {
        write_value(object, line.key, record.*line.member, usual<Record>().*line.member,
                    line.written);
    });
    return object;
}

// ---- reading ----------------------------------------------------------------------------------

template <HasJsonTable Record>
Record record_from(const nlohmann::json& object);

// Numbers of a list that are no structs.
void read_element(const char* key, const nlohmann::json& element, InstanceId& id);
void read_element(const char* key, const nlohmann::json& element, Instant& moment);
void read_element(const char* key, const nlohmann::json& element, std::int32_t& number);
template <HasJsonTable Record>
void read_element(const char*, const nlohmann::json& element, Record& record) {
    record = record_from<Record>(element);
}

template <class Value>
void read_value(Fields& fields, const char* key, Value& value, ReadRange range) {
    const bool any = range == ReadRange::any;
    if constexpr (HasJsonTable<Value>) {
        if (const nlohmann::json* found = fields.find(key)) value = record_from<Value>(*found);
    } else if constexpr (requires { names_of(value); }) {
        fields.name(key, names_of(value), value);
    } else if constexpr (std::is_enum_v<Value>) {
        read_index(fields, key, value);
    } else if constexpr (std::same_as<Value, bool>) {
        fields.flag(key, value);
    } else if constexpr (std::integral<Value>) {
        if (any) return fields.integer(key, value);
        fields.integer_from(key, range == ReadRange::positive ? Value{1} : Value{0}, value);
    } else if constexpr (std::same_as<Value, double>) {
        fields.real(key, value);
    } else if constexpr (std::same_as<Value, Instant>) {
        fields.time(key, value);
    } else if constexpr (requires { value.push_back({}); }) {
        fields.list(key, [&](const nlohmann::json& element) {
            read_element(key, element, value.emplace_back());
        });
    } else if constexpr (std::same_as<Value, Duration>) {
        any ? fields.quantity(key, value) : fields.time(key, value);
    } else if constexpr (std::same_as<Value, Price>) {
        any ? fields.quantity(key, value) : fields.price(key, value);
    } else {
        fields.quantity(key, value);
    }
}

template <HasJsonTable Record>
Record record_from(const nlohmann::json& object) {
    Record record;
    Fields fields(object);
    for_each_line(json_table<Record>, [&](const auto& line) {
        read_value(fields, line.key, record.*line.member, line.range);
    });
    fields.finish();
    return record;
}

}  // namespace ukemi::records
