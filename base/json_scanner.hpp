// json_scanner.hpp — walks a large JSON text from front to back, strictly, and builds no tree.
//
// The caller says what it expects next and gets it, or an InputError with file:line:column. RFC
// 8259 is held to the letter: no leading zeros, NaN, comments, trailing commas or control
// characters in texts; well-formed UTF-8; at most `depth_max` levels. Texts without escapes and all
// numbers are views into the input, so the input must outlive the scanner. Line and column are
// computed only when a complaint is made. For configuration, where unread keys matter, see
// config_reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/input_error.hpp"

namespace ukemi {

class JsonScanner {
public:
    static constexpr std::size_t depth_max = 64;
    enum class Kind : std::uint8_t { object, array, text, number, boolean, null };

    // Checks the encoding of all of `text` at once.
    JsonScanner(std::string_view text, std::string_view file);

    Kind peek();  // what begins here; complains if nothing can

    void begin_object();
    // True with the next key, ready to read its value; false at the end of the object. The key is
    // valid until the next call on the scanner. Equal keys are the caller's to refuse.
    bool next_key(std::string_view& key);
    void begin_array();
    bool next_element();  // true if a value follows; false at the end of the array

    std::string_view text();  // escapes undone; valid until the next call on the scanner
    bool boolean();
    void null();
    // A number as an exact integer of `places` decimal places: decimal(9) of 0.3 is 300'000'000.
    std::int64_t decimal(int places, std::int64_t min, std::int64_t max, std::string_view expected);
    // A whole number, also if written 1.0 or 1e0.
    std::int64_t whole(std::int64_t min, std::int64_t max, std::string_view expected);
    // An array of whole numbers from 0 to `max`, appended to `values`. The offset afterwards is the
    // array's.
    void whole_numbers(std::int32_t max, std::string_view expected,
                       std::vector<std::int32_t>& values, std::size_t count_max);

    void skip_value();  // any value, checked all the same
    void finish();      // nothing but blanks may follow

    std::size_t offset() const { return value_start_; }  // of the value or key read last
    [[noreturn]] void fail(std::string_view problem) const { fail_at(value_start_, problem); }
    [[noreturn]] void fail_at(std::size_t offset, std::string_view problem) const;

private:
    enum class Level : std::uint8_t { object_first, object, array_first, array };

    void skip_blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' ||
                                      text_[at_] == '\r' || text_[at_] == '\t')) {
            ++at_;
        }
    }
    void enter(char opening, Level level, std::string_view what);
    bool next_member(char closing, Level first, Level later);
    void expect_word(std::string_view word);
    std::string_view scan_text();
    void unescape();
    unsigned hexadecimal();
    std::string_view number_text(std::string_view expected);
    void plain_digits(std::int32_t max, std::vector<std::int32_t>& values);
    [[noreturn]] void fail_expected(std::string_view expected);

    std::string_view text_;
    std::string_view file_;
    std::size_t at_ = 0;
    std::size_t value_start_ = 0;
    std::vector<Level> levels_;
    std::string unescaped_;
};

}  // namespace ukemi
