// json_scanner.cpp — the grammar of RFC 8259, one function a rule, and the complaints.
//
// A second parser beside nlohmann's, whose SAX interface took 4.9 times as long for 60 MB of price
// history, 2.4 times for decimals, 5.5 times for a list of 0 and 1 (against whole_numbers); and a
// reader of a form asks for what comes next, where SAX would call it back at each value.
#include "base/json_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/invariant.hpp"
#include "base/text_scan.hpp"

namespace ukemi {

namespace {

constexpr bool ends_a_value(char c) {
    return std::string_view(",]} \n\r\t").find(c) != std::string_view::npos;
}

}  // namespace

JsonScanner::JsonScanner(std::string_view text, std::string_view file) : text_(text), file_(file) {
    const std::size_t invalid = first_invalid_utf8(text);
    if (invalid != std::string_view::npos) fail_at(invalid, "expected UTF-8, found another byte");
    levels_.reserve(8);
}

void JsonScanner::fail_at(std::size_t offset, std::string_view problem) const {
    const TextPlace place = place_of(text_, offset);
    throw InputError(file_, place.line, place.column, problem);
}

void JsonScanner::fail_expected(std::string_view expected) {
    if (at_ >= text_.size()) {
        fail_at(at_, fmt::format("expected {}, found the end of the file", expected));
    }
    if (text_[at_] == '"') fail_at(at_, fmt::format("expected {}, found a text", expected));
    // As much of what stands there as a reader needs to find it again.
    std::size_t length = 1;
    while (length < 24 && at_ + length < text_.size() && !ends_a_value(text_[at_ + length])) {
        ++length;
    }
    fail_at(at_, fmt::format("expected {}, found {}", expected, quoted(text_.substr(at_, length))));
}

JsonScanner::Kind JsonScanner::peek() {
    skip_blanks();
    value_start_ = at_;
    if (at_ >= text_.size()) fail_expected("a value");
    switch (text_[at_]) {
        case '{': return Kind::object;
        case '[': return Kind::array;
        case '"': return Kind::text;
        case 't':
        case 'f': return Kind::boolean;
        case 'n': return Kind::null;
        default: break;
    }
    if (text_[at_] == '-' || is_digit(text_[at_])) return Kind::number;
    fail_expected("a value");
}

void JsonScanner::enter(char opening, Level level, std::string_view what) {
    skip_blanks();
    value_start_ = at_;
    if (at_ >= text_.size() || text_[at_] != opening) fail_expected(what);
    if (levels_.size() >= depth_max) {
        fail(fmt::format("expected at most {} levels of nesting", depth_max));
    }
    levels_.push_back(level);
    ++at_;
}

void JsonScanner::begin_object() { enter('{', Level::object_first, "an object"); }
void JsonScanner::begin_array() { enter('[', Level::array_first, "a list"); }

// At the end of a member: takes the comma, or the closing bracket.
bool JsonScanner::next_member(char closing, Level first, Level later) {
    INVARIANT(!levels_.empty() && (levels_.back() == first || levels_.back() == later));
    skip_blanks();
    const bool is_first = levels_.back() == first;
    if (at_ < text_.size() && text_[at_] == closing) {
        ++at_;
        levels_.pop_back();
        return false;
    }
    levels_.back() = later;
    if (is_first) return true;
    if (at_ >= text_.size() || text_[at_] != ',') {
        fail_expected(fmt::format("\",\" or \"{}\"", closing));
    }
    ++at_;
    return true;
}

bool JsonScanner::next_key(std::string_view& key) {
    if (!next_member('}', Level::object_first, Level::object)) return false;
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != '"') fail_expected("a key in double quotes");
    key = scan_text();
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != ':') fail_expected("\":\"");
    ++at_;
    return true;
}

bool JsonScanner::next_element() {
    if (!next_member(']', Level::array_first, Level::array)) return false;
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] == ']' || text_[at_] == ',') fail_expected("a value");
    return true;
}

std::string_view JsonScanner::text() {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != '"') {
        value_start_ = at_;
        fail_expected("a text");
    }
    return scan_text();
}

// From the opening quote on.
std::string_view JsonScanner::scan_text() {
    value_start_ = at_;
    const std::size_t first = ++at_;
    unescaped_.clear();
    bool escapes = false;
    for (; at_ < text_.size(); ++at_) {
        const char c = text_[at_];
        if (c == '"') {
            ++at_;
            return escapes ? std::string_view(unescaped_) : text_.substr(first, at_ - 1 - first);
        }
        if (static_cast<unsigned char>(c) < 0x20) {
            fail_at(at_, "expected no control character in a text (write it as \\u00XX)");
        }
        if (c == '\\') {
            if (!escapes) unescaped_.assign(text_.substr(first, at_ - first));
            escapes = true;
            unescape();
        } else if (escapes) {
            unescaped_ += c;
        }
    }
    fail_at(value_start_, "expected a closing quote, found the end of the file");
}

// At a backslash; leaves `at_` on the last character of the escape.
void JsonScanner::unescape() {
    static constexpr std::string_view names = "\"\\/bfnrt";
    static constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    const std::size_t start = at_++;
    if (at_ >= text_.size()) fail_at(start, "expected an escape, found the end of the file");
    if (const std::size_t index = names.find(text_[at_]); index != std::string_view::npos) {
        unescaped_ += meanings[index];
        return;
    }
    if (text_[at_] != 'u') fail_at(start, "expected an escape such as \\n or \\u00E9");
    unsigned code = hexadecimal();
    if (code >= 0xDC00 && code <= 0xDFFF) fail_at(start, "expected no lone surrogate");
    if (code >= 0xD800 && code <= 0xDBFF) {
        if (text_.substr(at_ + 1, 2) != "\\u") fail_at(start, "expected no lone surrogate");
        at_ += 2;
        const unsigned low = hexadecimal();
        if (low < 0xDC00 || low > 0xDFFF) fail_at(start, "expected no lone surrogate");
        code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
    }
    const auto put = [this](unsigned byte) { unescaped_ += static_cast<char>(byte); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xC0U | (code >> 6U));
        put(0x80U | (code & 0x3FU));
    } else if (code < 0x10000) {
        put(0xE0U | (code >> 12U));
        put(0x80U | ((code >> 6U) & 0x3FU));
        put(0x80U | (code & 0x3FU));
    } else {
        put(0xF0U | (code >> 18U));
        put(0x80U | ((code >> 12U) & 0x3FU));
        put(0x80U | ((code >> 6U) & 0x3FU));
        put(0x80U | (code & 0x3FU));
    }
}

// At the `u` of an escape; leaves `at_` on the last of its four digits.
unsigned JsonScanner::hexadecimal() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i) {
        ++at_;
        const char c = at_ < text_.size() ? text_[at_] : '\0';
        const unsigned digit = is_digit(c)            ? static_cast<unsigned>(c - '0')
                               : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                               : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A' + 10)
                                                      : 16U;
        if (digit == 16) fail_at(std::min(at_, text_.size()), "expected four hexadecimal digits");
        code = code * 16 + digit;
    }
    return code;
}

void JsonScanner::expect_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) fail_expected("a value");
    at_ += word.size();
}

bool JsonScanner::boolean() {
    skip_blanks();
    value_start_ = at_;
    if (at_ >= text_.size() || (text_[at_] != 't' && text_[at_] != 'f')) {
        fail_expected("true or false");
    }
    const bool value = text_[at_] == 't';
    expect_word(value ? "true" : "false");
    return value;
}

void JsonScanner::null() {
    skip_blanks();
    value_start_ = at_;
    if (at_ >= text_.size() || text_[at_] != 'n') fail_expected("null");
    expect_word("null");
}

std::string_view JsonScanner::number_text(std::string_view expected) {
    skip_blanks();
    value_start_ = at_;
    const std::size_t length = decimal_length(text_.substr(at_), DecimalGrammar::json);
    if (length == 0) fail_expected(expected);
    const std::string_view number = text_.substr(at_, length);
    at_ += length;
    // "01" and "1x" scan as a number followed by something else; the complaint is clearer here.
    if (at_ < text_.size() && !ends_a_value(text_[at_])) {
        at_ = value_start_;
        fail_expected(expected);
    }
    return number;
}

std::int64_t JsonScanner::decimal(int places, std::int64_t min, std::int64_t max,
                                  std::string_view expected) {
    const std::string_view number = number_text(expected);
    const auto value = parse_decimal(number, places, DecimalGrammar::json);
    if (!value || *value < min || *value > max) {
        fail(fmt::format("expected {}, found {}", expected, number.substr(0, 40)));
    }
    return *value;
}

std::int64_t JsonScanner::whole(std::int64_t min, std::int64_t max, std::string_view expected) {
    const std::string_view number = number_text(expected);
    const auto value = parse_whole(number, DecimalGrammar::json);
    if (!value || *value < min || *value > max) {
        fail(fmt::format("expected {}, found {}", expected, number.substr(0, 40)));
    }
    return *value;
}

// Takes "1,", "1.0," and one blank behind, again and again: what long lists are made of. Leaves
// `at_` at the first value that is written otherwise.
void JsonScanner::plain_digits(std::int32_t max, std::vector<std::int32_t>& values) {
    constexpr std::ptrdiff_t longest = 5;  // "1.0, "
    const char* at = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    while (end - at > longest) {
        const int digit = *at - '0';
        if (digit < 0 || digit > 9 || digit > max) break;
        const char* next = at + 1;
        if (next[0] == '.' && next[1] == '0') next += 2;
        if (*next != ',') break;
        values.push_back(digit);
        at = next + (next[1] == ' ' ? 2 : 1);
    }
    at_ = static_cast<std::size_t>(at - text_.data());
}

void JsonScanner::whole_numbers(std::int32_t max, std::string_view expected,
                                std::vector<std::int32_t>& values, std::size_t count_max) {
    begin_array();
    const std::size_t start = value_start_;
    constexpr std::size_t reserved_max = 16'384;
    values.reserve(values.size() + std::min((text_.size() - at_) / 2, reserved_max));
    while (next_element()) {
        plain_digits(max, values);
        values.push_back(static_cast<std::int32_t>(whole(0, max, expected)));
        if (values.size() > count_max) {
            fail(fmt::format("expected at most {} values", count_max));
        }
    }
    value_start_ = start;
}

// A loop and not a recursion, so that nesting costs no stack.
void JsonScanner::skip_value() {
    const std::size_t outer = levels_.size();
    do {
        if (levels_.size() > outer) {
            const bool in_object =
                levels_.back() == Level::object_first || levels_.back() == Level::object;
            std::string_view key;
            if (!(in_object ? next_key(key) : next_element())) continue;
        }
        switch (peek()) {
            case Kind::object: begin_object(); break;
            case Kind::array: begin_array(); break;
            case Kind::text: text(); break;
            case Kind::number: number_text("a number"); break;
            case Kind::boolean: boolean(); break;
            case Kind::null: null(); break;
        }
    } while (levels_.size() > outer);
}

void JsonScanner::finish() {
    INVARIANT(levels_.empty());
    skip_blanks();
    if (at_ < text_.size()) fail_expected("the end of the file");
}

}  // namespace ukemi
