// json_schema.hpp — validates the part of JSON Schema that ukemi's schemas use: type, enum,
// pattern, minimum, maximum, items, properties, required, additionalProperties, anyOf.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>
#include <string>

namespace ukemi {

class JsonSchema {
public:
    explicit JsonSchema(const std::string& text) : schema_(nlohmann::json::parse(text)) {}

    // The first place in the document that the schema refuses, and why; empty if it takes it.
    std::string fault(const nlohmann::json& document) { return fault(schema_, document, ""); }
    const nlohmann::json& text() const { return schema_; }

private:
    using Json = nlohmann::json;

    static bool has_type(const std::string& type, const Json& value) {
        if (type == "object") return value.is_object();
        if (type == "array") return value.is_array();
        if (type == "string") return value.is_string();
        if (type == "boolean") return value.is_boolean();
        if (type == "integer") return value.is_number_integer();
        if (type == "number") return value.is_number();
        throw std::runtime_error("a type that this validator does not know: " + type);
    }

    const std::regex& regex(const std::string& pattern) {
        const auto found = patterns_.find(pattern);
        if (found != patterns_.end()) return found->second;
        return patterns_.emplace(pattern, std::regex(pattern)).first->second;
    }

    std::string fault(const Json& schema, const Json& value, const std::string& path) {
        const auto at = [&](const std::string& why) { return (path.empty() ? "/" : path) + why; };
        if (schema.is_boolean()) return schema.get<bool>() ? "" : at(": unknown key");
        if (schema.contains("anyOf")) {
            std::string first;
            for (const Json& one : schema["anyOf"]) {
                const std::string why = fault(one, value, path);
                if (why.empty()) return "";
                if (first.empty()) first = why;
            }
            return first;
        }
        if (schema.contains("type") && !has_type(schema["type"].get<std::string>(), value)) {
            return at(": no " + schema["type"].get<std::string>());
        }
        if (schema.contains("enum")) {
            bool among = false;
            for (const Json& one : schema["enum"]) among = among || one == value;
            if (!among) return at(": not in the enum");
        }
        if (schema.contains("pattern") &&
            !std::regex_search(value.get<std::string>(),
                               regex(schema["pattern"].get<std::string>()))) {
            return at(": does not fit the pattern");
        }
        if (schema.contains("minimum") && value < schema["minimum"]) return at(": too small");
        if (schema.contains("maximum") && value > schema["maximum"]) return at(": too large");
        return inner_fault(schema, value, path);
    }

    std::string inner_fault(const Json& schema, const Json& value, const std::string& path) {
        std::string why;
        if (value.is_array() && schema.contains("items")) {
            for (std::size_t i = 0; i < value.size() && why.empty(); ++i) {
                why = fault(schema["items"], value[i], path + "/" + std::to_string(i));
            }
        }
        if (!value.is_object()) return why;
        for (const Json& key : schema.value("required", Json::array())) {
            const std::string name = key.get<std::string>();
            if (!value.contains(name)) return (path.empty() ? "/" : path) + ": missing key " + name;
        }
        const Json others = schema.value("additionalProperties", Json(true));
        for (const auto& [key, one] : value.items()) {
            if (!why.empty()) return why;
            const bool known = schema.contains("properties") && schema["properties"].contains(key);
            why = fault(known ? schema["properties"][key] : others, one, path + "/" + key);
        }
        return why;
    }

    Json schema_;
    std::map<std::string, std::regex> patterns_;
};

}  // namespace ukemi
