// chakra_trace.cpp — nodes from Protocol Buffers or from JSON; both go through the same setters.
#include "scenarios/reader/chakra_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/input_error.hpp"
#include "base/json_document.hpp"
#include "base/plain_text.hpp"
#include "base/text_scan.hpp"
#include "scenarios/reader/wire_reader.hpp"

namespace ukemi::scenarios {
namespace {

constexpr std::array<std::string_view, 8> type_names = {
    "INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
    "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};
constexpr std::array<std::string_view, 10> collective_names = {
    "ALL_REDUCE", "REDUCE",         "ALL_GATHER",           "GATHER", "SCATTER", "BROADCAST",
    "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"};

ChakraType type_of(std::uint64_t number) {
    if (number == 0 || number >= type_names.size()) return ChakraType::other;
    return static_cast<ChakraType>(number - 1);
}

// One value of an attribute, whichever of its twenty-eight forms it has.
struct AttributeValue {
    std::optional<std::int64_t> whole;
    std::optional<double> real;
    std::string text;
    std::vector<bool> flags;
};

using Complain = std::function<void(std::string_view problem)>;

std::int64_t size_of(const AttributeValue& value, std::string_view name, const Complain& complain) {
    constexpr std::int64_t most = std::int64_t{1} << 50;
    std::optional<std::int64_t> whole = value.whole;
    const bool fits = value.real && *value.real >= 0 && *value.real <= static_cast<double>(most);
    if (fits) whole = static_cast<std::int64_t>(*value.real);
    if (whole && *whole >= 0 && *whole <= most) return *whole;
    complain(fmt::format("attribute {}: expected a number from 0 to {}", name, most));
    return 0;
}

void set_attribute(ChakraNode& node, std::string_view name, const AttributeValue& value,
                   const Complain& complain) {
    const auto number = [&] { return size_of(value, name, complain); };
    if (name == "is_cpu_op") node.on_cpu = value.whole.value_or(0) != 0;
    if (name == "comm_size") {
        node.bytes = number();
        node.names_bytes = true;
    }
    if (name == "comm_src") node.from = number();
    if (name == "comm_dst") node.to = number();
    if (name == "comm_tag") node.tag = number();
    if (name == "num_ops") node.operations = number();
    if (name == "tensor_size") node.tensor_bytes = number();
    if (name == "pg_name") node.group = value.whole ? fmt::format("{}", *value.whole) : value.text;
    if (name == "involved_dim") {
        node.all_dimensions = std::ranges::all_of(value.flags, [](bool one) { return one; });
    }
    if (name != "comm_type") return;
    const auto named = std::ranges::find(collective_names, value.text);
    const std::int64_t kind =
        named != collective_names.end() ? named - collective_names.begin() : number();
    if (kind >= static_cast<std::int64_t>(collective_names.size())) {
        complain(fmt::format("attribute comm_type: expected 0 to {}, found {}",
                             collective_names.size() - 1, kind));
    }
    node.collective = static_cast<ChakraCollective>(kind);
    node.names_collective = true;
}

// Who receives is told by who sends how much.
void expect_known(const ChakraNode& node, std::string_view file) {
    const bool gathers = node.type == ChakraType::collective;
    if (!gathers && node.type != ChakraType::send) return;
    const bool names_type = !gathers || node.names_collective;
    const bool needs_bytes = !gathers || node.collective != ChakraCollective::barrier;
    if (names_type && (node.names_bytes || !needs_bytes)) return;
    throw InputError(
        file, "",
        fmt::format("node {} (\"{}\") is a {}: expected its {}", node.id, node.name.substr(0, 60),
                    gathers ? "collective" : "message", names_type ? "comm_size" : "comm_type"));
}

void check_count(std::size_t count, std::string_view file) {
    if (count <= chakra_nodes_max) return;
    throw InputError(file, "", fmt::format("expected at most {} nodes", chakra_nodes_max));
}

// ---- Protocol Buffers ---------------------------------------------------------------------------

// Numbers of an attribute's value; the lists' are one more than those of a single value.
enum AttributeField : std::uint32_t {
    attribute_name = 1,
    double_value = 3,
    float_value = 5,
    int32_value = 7,
    sint32_value = 15,
    sint64_value = 17,
    sfixed32_value = 23,
    bool_value = 27,
    bool_list = 28,
    string_value = 29,
};

void add_bits(WireReader list, std::vector<bool>& flags) {
    while (const auto field = list.next()) {
        if (field->number != 1) continue;
        if (field->type != WireType::bytes) {
            flags.push_back(field->value != 0);
            continue;
        }
        for (const char byte : field->bytes) flags.push_back(byte != 0);  // packed
    }
}

void read_attribute(WireReader attribute, std::string_view file, ChakraNode& node) {
    std::string_view name;
    AttributeValue value;
    while (const auto field = attribute.next()) {
        const bool zigzag = field->number == sint32_value || field->number == sint64_value;
        const std::uint64_t raw = field->value;
        if (field->number == attribute_name) {
            name = field->bytes;
        } else if (field->number == bool_list) {
            add_bits({field->bytes, file, field->at}, value.flags);
        } else if (field->number == string_value) {
            value.text = field->bytes;
        } else if (field->number == double_value && field->type == WireType::fixed64) {
            value.real = std::bit_cast<double>(raw);
        } else if (field->number == float_value && field->type == WireType::fixed32) {
            value.real = std::bit_cast<float>(static_cast<std::uint32_t>(raw));
        } else if (field->type != WireType::bytes && field->number >= int32_value) {
            const std::uint64_t unsigned_value = zigzag ? (raw >> 1) ^ (0 - (raw & 1)) : raw;
            value.whole = static_cast<std::int64_t>(unsigned_value);
            if (field->number == sfixed32_value) {
                value.whole = static_cast<std::int32_t>(static_cast<std::uint32_t>(raw));
            }
        }
    }
    set_attribute(node, name, value, [&](std::string_view problem) { attribute.fail(problem); });
}

void add_ids(const WireField& field, std::string_view file, std::vector<std::uint64_t>& ids) {
    if (field.type != WireType::bytes) return ids.push_back(field.value);
    WireReader packed(field.bytes, file, field.at);
    while (!packed.at_end()) ids.push_back(packed.varint());
}

ChakraNode read_node(WireReader message, std::string_view file) {
    ChakraNode node;
    while (const auto field = message.next()) {
        switch (field->number) {
            case 1: node.id = field->value; break;
            case 2: node.name = field->bytes; break;
            case 3: node.type = type_of(field->value); break;
            case 4:
            case 5: add_ids(*field, file, node.after); break;
            case 7: node.duration_us = field->value; break;
            case 10: read_attribute({field->bytes, file, field->at}, file, node); break;
            default: break;
        }
    }
    return node;
}

std::vector<ChakraNode> parse_messages(std::string_view bytes, std::string_view file) {
    WireReader all(bytes, file);
    all.message();  // GlobalMetadata
    std::vector<ChakraNode> nodes;
    while (!all.at_end()) {
        const WireField message = all.message();
        nodes.push_back(read_node({message.bytes, file, message.at}, file));
        expect_known(nodes.back(), file);
        check_count(nodes.size(), file);
    }
    return nodes;
}

// ---- JSON ---------------------------------------------------------------------------------------

using nlohmann::json;

// By the schema's name or by that of protobuf's JSON: data_deps, dataDeps.
const json* member(const json& object, std::string_view name) {
    std::string camel;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const bool hump = name[i] == '_' && i + 1 < name.size();
        camel += hump ? static_cast<char>(name[++i] - 'a' + 'A') : name[i];
    }
    for (const std::string& key : {std::string(name), camel}) {
        if (const auto found = object.find(key); found != object.end()) return &*found;
    }
    return nullptr;
}

// 64-bit numbers are strings in protobuf's JSON, which takes 1000.0 for a whole number, too.
std::optional<std::int64_t> whole_of(const json& value) {
    if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (value.is_number_float()) {
        constexpr double exact_max = 9007199254740992;  // 2^53: all below is told apart
        const auto real = value.get<double>();
        if (real != std::trunc(real) || std::abs(real) > exact_max) return std::nullopt;
        return static_cast<std::int64_t>(real);
    }
    if (!value.is_string()) return std::nullopt;
    const auto& text = value.get_ref<const std::string&>();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

class JsonNodes {
public:
    explicit JsonNodes(std::string_view file) : file_(file) {}

    ChakraNode read(const json& object, std::size_t number) const {
        const auto complain = [&](std::string_view problem) {
            throw InputError(file_, "", fmt::format("object {}: {}", number, problem));
        };
        const auto natural = [&](const json* value, std::string_view name) -> std::uint64_t {
            if (value == nullptr) return 0;
            const auto whole = whole_of(*value);
            if (!whole || *whole < 0) {
                complain(fmt::format("{}: expected a whole number from 0 on, found {}", name,
                                     describe(*value)));
            }
            return static_cast<std::uint64_t>(*whole);
        };
        for (const char* key : {"id", "type"}) {
            if (member(object, key) == nullptr) {
                complain(fmt::format("expected a node with \"{}\"", key));
            }
        }
        ChakraNode node;
        node.id = natural(member(object, "id"), "id");
        if (const json* name = member(object, "name"); name != nullptr && name->is_string()) {
            node.name = name->get<std::string>();
        }
        if (const json* type = member(object, "type"); type != nullptr) {
            node.type = type->is_string() ? type_named(type->get<std::string>(), complain)
                                          : type_of(natural(type, "type"));
        }
        for (const std::string_view key : {"ctrl_deps", "data_deps"}) {
            const json* ids = member(object, key);
            if (ids == nullptr) continue;
            if (!ids->is_array()) complain(fmt::format("{}: expected a list", key));
            for (const json& id : *ids) node.after.push_back(natural(&id, key));
        }
        node.duration_us = natural(member(object, "duration_micros"), "duration_micros");
        const json* attributes = member(object, "attr");
        if (attributes != nullptr && attributes->is_array()) {
            for (const json& one : *attributes) read_json_attribute(one, node, complain);
        }
        return node;
    }

private:
    template <class Complain>
    static ChakraType type_named(const std::string& name, const Complain& complain) {
        const auto* const found = std::ranges::find(type_names, name);
        if (found == type_names.end()) {
            complain(fmt::format("type: {} is none of Chakra's{}", ukemi::quoted(name),
                                 did_you_mean(name, type_names)));
        }
        return type_of(static_cast<std::uint64_t>(found - type_names.begin()));
    }
    static void read_json_attribute(const json& attribute, ChakraNode& node,
                                    const Complain& complain) {
        if (!attribute.is_object() || !attribute.contains("name")) return;
        const json& name = attribute["name"];
        AttributeValue value;
        for (const auto& [key, given] : attribute.items()) {
            if (key == "name" || key == "doc_string" || key == "docString") continue;
            value.whole = whole_of(given);
            if (given.is_number_float()) value.real = given.get<double>();
            if (given.is_string()) value.text = given.get<std::string>();
            const json* flags = given.is_object() ? member(given, "values") : nullptr;
            if (flags == nullptr || !flags->is_array()) continue;
            for (const json& flag : *flags) {
                value.flags.push_back(flag.is_boolean() && flag.get<bool>());
            }
        }
        if (name.is_string()) set_attribute(node, name.get<std::string>(), value, complain);
    }

    std::string_view file_;
};

// The end of the object that begins at `begin`; strings may hold braces.
std::size_t object_end(std::string_view text, std::size_t begin) {
    int depth = 0;
    bool quoted_text = false;
    for (std::size_t at = begin; at < text.size(); ++at) {
        const char c = text[at];
        if (quoted_text) {
            if (c == '\\') ++at;
            if (c == '"') quoted_text = false;
        } else if (c == '"') {
            quoted_text = true;
        } else if (c == '{') {
            ++depth;
        } else if (c == '}' && --depth == 0) {
            return at + 1;
        }
    }
    return text.size();
}

// Objects one after another, or a list of them, whole: each that begins is found by next().
class ObjectList {
public:
    ObjectList(std::string_view text, std::string_view file) : text_(text), file_(file) {
        is_list_ = takes('[');
    }

    // Nothing at the end, behind which nothing stands.
    std::optional<json> next() {
        if (is_list_ && takes(']')) {
            skip_space();
            if (at_ < text_.size()) fail("the end after the list");
            return std::nullopt;
        }
        if (is_list_ && count_ > 0 && !takes(',')) fail("a comma or the list's end");
        skip_space();
        if (!is_list_ && at_ == text_.size()) return std::nullopt;
        if (at_ == text_.size() || text_[at_] != '{') fail("an object of a Chakra trace");
        const std::size_t begin = at_;
        at_ = object_end(text_, begin);
        ++count_;
        return parse_json_part(text_, begin, at_ - begin, file_);
    }
    std::size_t count() const { return count_; }

private:
    void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
    bool takes(char c) {
        skip_space();
        const bool found = at_ < text_.size() && text_[at_] == c;
        if (found) ++at_;
        return found;
    }
    [[noreturn]] void fail(std::string_view expected) const {
        const TextPlace place = place_of(text_, at_);
        throw InputError(file_, place.line, place.column,
                         fmt::format("expected {}, found {}", expected,
                                     at_ == text_.size() ? "the end of the file"
                                                         : quoted(text_.substr(at_, 20))));
    }

    std::string_view text_;
    std::string_view file_;
    std::size_t at_ = 0;
    std::size_t count_ = 0;
    bool is_list_ = false;
};

std::vector<ChakraNode> parse_objects(std::string_view text, std::string_view file) {
    std::vector<ChakraNode> nodes;
    const JsonNodes reader(file);
    ObjectList objects(text, file);
    while (const auto object = objects.next()) {
        if (member(*object, "version") != nullptr) continue;  // GlobalMetadata
        nodes.push_back(reader.read(*object, objects.count()));
        expect_known(nodes.back(), file);
        check_count(nodes.size(), file);
    }
    return nodes;
}

}  // namespace

std::string_view name_of(ChakraCollective collective) {
    return collective_names[static_cast<std::size_t>(collective)];
}

std::vector<ChakraNode> parse_chakra(std::string_view bytes, std::string_view file) {
    const std::size_t first = bytes.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) {
        throw InputError(file, "", "expected a Chakra trace, found nothing");
    }
    // A message may be as long as a bracket's code says: what follows is then no quote or bracket.
    const std::size_t second = bytes.find_first_not_of(" \t\r\n", first + 1);
    const char next = second == std::string_view::npos ? ' ' : bytes[second];
    const bool is_text = (bytes[first] == '{' && (next == '"' || next == '}')) ||
                         (bytes[first] == '[' && (next == '{' || next == ']'));
    const bool is_plain = std::ranges::all_of(bytes.substr(0, 64), [](unsigned char c) {
        return (c >= ' ' && c < 0x7f) || c == '\n' || c == '\r' || c == '\t';
    });
    if (!is_text && is_plain) {
        throw InputError(file, "", "expected a Chakra trace, as objects of JSON or as messages");
    }
    return is_text ? parse_objects(bytes, file) : parse_messages(bytes, file);
}

}  // namespace ukemi::scenarios
