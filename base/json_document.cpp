// json_document.cpp — the tree is built from parser events, so that depth and duplicate keys are
// checked before anything is built on them.
#include "base/json_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/plain_text.hpp"
#include "base/text_scan.hpp"

namespace ukemi {

using nlohmann::json;

namespace {

struct SyntaxError {
    std::size_t offset = 0;
    std::string problem;
};

// What was read last may be all of a file that is no JSON: a few characters of it are enough.
std::string without_long_token(std::string_view problem) {
    constexpr std::string_view before = "; last read: '";
    constexpr std::size_t token_bytes_max = 24;
    const std::size_t begin = problem.find(before);
    if (begin == std::string_view::npos) return std::string(problem);
    const std::size_t end = std::min(problem.rfind("'; expected ") + 1, problem.size());
    const std::size_t after = end > begin + before.size() ? end : problem.size();
    if (after - begin <= before.size() + token_bytes_max + 1) return std::string(problem);
    return fmt::format("{}{}", problem.substr(0, begin), problem.substr(after));
}

// What nlohmann::json calls while it parses; "false" would stop it.
class TreeBuilder {
public:
    TreeBuilder(std::string_view file, std::string_view path, std::size_t depth)
        : file_(file), path_(path), depth_(depth) {}

    bool null() { return put(nullptr); }
    bool boolean(bool value) { return put(value); }
    bool number_integer(std::int64_t value) { return put(value); }
    bool number_unsigned(std::uint64_t value) { return put(value); }
    bool number_float(double value, const std::string&) { return put(value); }
    bool string(std::string& value) { return put(std::move(value)); }
    bool binary(json::binary_t&) { return false; }  // JSON text has none
    bool start_object(std::size_t) { return open(json::object()); }
    bool end_object() { return close(); }
    bool start_array(std::size_t) { return open(json::array()); }
    bool end_array() { return close(); }

    bool key(std::string& name) {
        Level& level = levels_.back();
        const auto [place, is_new] = level.node->get_ref<json::object_t&>().try_emplace(name);
        if (!is_new) {
            throw InputError(file_, here(),
                             fmt::format("key {} appears twice", ukemi::quoted(name)));
        }
        level.value = &place->second;
        level.token = pointer_token(name);
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const json::exception& error) {
        std::string_view problem = error.what();
        // Drop "[json.exception.parse_error.101] parse error at line 1, column 2: ".
        problem.remove_prefix(std::min(problem.find("] ") + 2, problem.size()));
        if (problem.starts_with("parse error at")) {
            problem.remove_prefix(std::min(problem.find(": ") + 2, problem.size()));
        }
        const std::size_t offset = position == 0 ? 0 : position - 1;
        error_ = SyntaxError{offset, shortened(without_long_token(problem), 200)};
        return false;
    }

    const std::optional<SyntaxError>& error() const { return error_; }
    json take() { return std::move(root_); }

private:
    struct Level {
        json* node;
        json* value = nullptr;  // of an object: where the value of the last key belongs
        std::string token;      // of an object: the last key
    };

    // The path of the innermost open object or list.
    std::string here() const {
        std::string path = path_;
        for (std::size_t i = 0; i + 1 < levels_.size(); ++i) {
            const Level& level = levels_[i];
            const bool list = level.node->is_array();
            path += '/' + (list ? fmt::format("{}", level.node->size() - 1) : level.token);
        }
        return path.empty() ? "/" : path;
    }

    json* place(json&& value) {
        if (levels_.empty()) return &(root_ = std::move(value));
        Level& level = levels_.back();
        if (level.node->is_object()) return &(*level.value = std::move(value));
        level.node->push_back(std::move(value));
        return &level.node->back();
    }
    bool put(json&& value) {
        place(std::move(value));
        return true;
    }
    bool open(json&& empty) {
        if (depth_ + levels_.size() >= json_depth_max) {
            throw InputError(file_, here(),
                             fmt::format("expected at most {} levels of nesting, "
                                         "found more",
                                         json_depth_max));
        }
        json* const node = place(std::move(empty));
        levels_.push_back({.node = node, .value = nullptr, .token = {}});
        return true;
    }
    bool close() {
        levels_.pop_back();
        return true;
    }

    std::string_view file_;
    std::string path_;
    std::size_t depth_;
    json root_;
    std::vector<Level> levels_;
    std::optional<SyntaxError> error_;
};

// The member or element that a token names; null if there is none.
json* step(json& node, const std::string& token) {
    if (node.is_object()) {
        const auto found = node.find(token);
        return found == node.end() ? nullptr : &*found;
    }
    if (!node.is_array()) return nullptr;
    const bool digits = !token.empty() && token.size() <= 9 &&
                        token.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || (token.size() > 1 && token[0] == '0')) return nullptr;
    const std::size_t index = std::stoul(token);
    return index < node.size() ? &node[index] : nullptr;
}

// Why no key can be below this.
std::string nothing_below(const json& node, const std::string& path, const std::string& token) {
    if (!node.is_array()) return fmt::format("{} is {}, not an object", path, describe(node));
    return node.empty() ? fmt::format("{} is an empty list", path)
                        : fmt::format("{} is a list with elements 0 to {}, found {}", path,
                                      node.size() - 1, ukemi::quoted(token));
}

}  // namespace

json parse_json(std::string_view text, std::string_view file) {
    return parse_json_part(text, 0, text.size(), file);
}

json parse_json_part(std::string_view whole, std::size_t begin, std::size_t size,
                     std::string_view file) {
    const std::string_view text = whole.substr(begin, size);
    const auto fail_at = [&](std::size_t offset, std::string_view problem) {
        const TextPlace place = place_of(whole, begin + offset);
        throw InputError(file, place.line, place.column, problem);
    };
    if (const std::size_t bad = utf8_prefix(text); bad != text.size()) {
        fail_at(bad, fmt::format("expected UTF-8, found byte 0x{:02x}",
                                 static_cast<std::uint8_t>(text[bad])));
    }
    TreeBuilder builder(file, "", 0);
    // People write comments into their files; places in complaints count them.
    constexpr bool comments = true;
    if (!json::sax_parse(text, &builder, json::input_format_t::json, true, comments)) {
        fail_at(builder.error()->offset, builder.error()->problem);
    }
    return builder.take();
}

std::string pointer_token(std::string_view key) {
    std::string token;
    for (const char c : key) token += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return token;
}

std::vector<std::string> split_pointer(std::string_view pointer, std::string_view where) {
    if (!pointer.starts_with('/')) {
        throw InputError(where, "",
                         fmt::format("expected a JSON pointer such as /job/deadline, "
                                     "found {}",
                                     ukemi::quoted(pointer)));
    }
    std::vector<std::string> tokens;
    for (std::size_t i = 0; i < pointer.size(); ++i) {
        if (pointer[i] == '/') {
            tokens.emplace_back();
        } else if (pointer[i] == '~') {
            const std::string_view escape = pointer.substr(i, 2);
            if (escape != "~0" && escape != "~1") {
                throw InputError(where, "",
                                 fmt::format("expected ~0 (for ~) or ~1 (for /) in a "
                                             "JSON pointer, found {}",
                                             ukemi::quoted(escape)));
            }
            tokens.back() += escape == "~0" ? '~' : '/';
            ++i;
        } else {
            tokens.back() += pointer[i];
        }
    }
    return tokens;
}

void apply_override(json& root, std::string_view pointer, std::string_view value,
                    std::string_view option) {
    const std::string where = fmt::format("{} {}", option, shortened(pointer, 120));
    if (utf8_prefix(pointer) != pointer.size() || utf8_prefix(value) != value.size()) {
        throw InputError(where, "", "expected UTF-8, found other bytes");
    }
    const std::vector<std::string> tokens = split_pointer(pointer, where);

    if (tokens.size() > json_depth_max) {
        throw InputError(where, "",
                         fmt::format("expected at most {} levels of nesting, found {}",
                                     json_depth_max, tokens.size()));
    }

    json* node = &root;
    std::string path;  // of `node`
    for (const std::string& token : tokens) {
        json* next = step(*node, token);
        if (next == nullptr && node->is_object()) {
            next = &node->emplace(token, json::object()).first.value();
        }
        if (next == nullptr) {
            throw InputError(where, "", nothing_below(*node, path.empty() ? "/" : path, token));
        }
        node = next;
        path += '/' + pointer_token(token);
    }
    TreeBuilder builder(where, path, tokens.size());
    *node = json::sax_parse(value, &builder) ? builder.take() : json(std::string(value));
}

std::string describe(const json& value) {
    if (value.is_object() && value.size() > 4)
        return fmt::format("an object of {} keys", value.size());
    if (value.is_array() && value.size() > 16)
        return fmt::format("a list of {} elements", value.size());
    return shortened(value.dump(), 40);
}

}  // namespace ukemi
