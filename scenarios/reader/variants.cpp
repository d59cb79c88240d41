// variants.cpp — combinations of values, each put into the document and read from the top.
#include "scenarios/reader/variants.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/complaint_list.hpp"
#include "base/plain_text.hpp"

namespace ukemi::scenarios {

namespace {

constexpr std::string_view option = "--vary";

std::string place_of(std::string_view pointer) {
    return fmt::format("{} {}", option, shortened(one_line(pointer), 120));
}

// Cuts a list at its commas, but not within brackets, braces or quotes.
class ValueList {
public:
    ValueList(std::string_view text, std::string where) : text_(text), where_(std::move(where)) {}

    std::vector<std::string> values() {
        for (const char c : text_) take(c);
        if (in_quotes_ || !open_.empty()) unclosed();
        finish_value();
        return std::move(values_);
    }

private:
    void take(char c) {
        if (c == ',' && !in_quotes_ && open_.empty()) {
            finish_value();
            return;
        }
        value_ += c;
        const bool escaped = std::exchange(escaped_, in_quotes_ && c == '\\' && !escaped_);
        if (c == '"' && !escaped) in_quotes_ = !in_quotes_;
        if (in_quotes_) return;
        if (c == '{') open_ += '}';
        if (c == '[') open_ += ']';
        if (c != '}' && c != ']') return;
        if (open_.empty() || open_.back() != c) unclosed();
        open_.pop_back();
    }

    void finish_value() {
        if (value_.empty()) throw InputError(where_, "", "expected a value, found none");
        if (std::ranges::find(values_, value_) != values_.end()) {
            throw InputError(where_, "",
                             fmt::format("{} stands there twice", ukemi::quoted(value_)));
        }
        if (values_.size() == variants_max) {
            throw InputError(where_, "", fmt::format("expected at most {} values", variants_max));
        }
        values_.push_back(std::move(value_));
        value_.clear();
    }

    [[noreturn]] void unclosed() const {
        throw InputError(
            where_, "",
            fmt::format("a bracket or a quote is not closed in {}", ukemi::quoted(text_)));
    }

    std::string_view text_;
    std::string where_;
    std::vector<std::string> values_;
    std::string value_;
    std::string open_;  // what closes the brackets that are open
    bool in_quotes_ = false;
    bool escaped_ = false;
};

// Whether setting `later` replaces what `earlier` names: the same key, or one around it.
bool undoes(std::string_view later, std::string_view earlier) {
    return earlier.starts_with(later) &&
           (earlier.size() == later.size() || earlier[later.size()] == '/');
}

void check_keys(std::span<const ConfigOverride> overrides, std::span<const VariedKey> keys) {
    for (std::size_t later = 0; later < keys.size(); ++later) {
        const std::string& pointer = keys[later].pointer;
        for (const ConfigOverride& set : overrides) {
            if (!undoes(pointer, set.pointer)) continue;
            throw InputError(place_of(pointer), "",
                             fmt::format("would undo --set {}", one_line(set.pointer)));
        }
        for (std::size_t earlier = 0; earlier < later; ++earlier) {
            if (!undoes(pointer, keys[earlier].pointer)) continue;
            throw InputError(place_of(pointer), "",
                             keys[earlier].pointer == pointer
                                 ? "stands there twice"
                                 : fmt::format("would undo {}: name it before",
                                               place_of(keys[earlier].pointer)));
        }
    }
}

std::size_t count_of(std::span<const VariedKey> keys) {
    std::size_t count = 1;
    bool more = false;  // than can be counted without overflow
    for (const VariedKey& key : keys) {
        count *= key.values.size();
        if (count <= variants_max * variants_max) continue;
        count = variants_max + 1;
        more = true;
    }
    if (count <= variants_max) return count;
    throw InputError(option, "",
                     fmt::format("expected at most {} variants, found {}", variants_max,
                                 more ? "more" : fmt::format("{}", count)));
}

std::vector<records::VariedValue> combination(std::span<const VariedKey> keys, std::size_t number) {
    std::vector<records::VariedValue> varied(keys.size());
    for (std::size_t key = keys.size(); key-- > 0;) {
        const std::vector<std::string>& values = keys[key].values;
        varied[key] = {keys[key].pointer, values[number % values.size()]};
        number /= values.size();
    }
    return varied;
}

void read_with(std::span<const ConfigOverride> overrides,
               std::span<const records::VariedValue> varied, const ReadVariant& read) {
    std::vector<ConfigOverride> all(overrides.begin(), overrides.end());
    for (const records::VariedValue& value : varied) {
        all.push_back({value.pointer, value.value, std::string(option)});
    }
    read(all, varied);
}

// The one value that makes this complaint by itself, or all of them.
std::span<const records::VariedValue> culprits(std::span<const ConfigOverride> overrides,
                                               std::span<const records::VariedValue> varied,
                                               const ReadVariant& read,
                                               std::string_view complaint) {
    for (std::size_t key = 0; key < varied.size(); ++key) {
        try {
            read_with(overrides, varied.subspan(key, 1), read);
        } catch (const InputError& error) {
            if (error.what() == complaint) return varied.subspan(key, 1);
        }
    }
    return varied;
}

// Where a value meets what its section has for another one: how to vary it with the keys beside it.
std::string beside_it(std::span<const records::VariedValue> blamed, std::string_view complaint) {
    if (blamed.size() != 1) return {};
    const std::string& pointer = blamed.front().pointer;
    const std::size_t end = pointer.rfind('/');
    const std::string section = pointer.substr(0, end);
    const std::string at = fmt::format(": at {}", section);
    const std::size_t found = complaint.find(at);
    if (section.empty() || found == std::string_view::npos) return {};
    const std::string_view rest = complaint.substr(found + at.size());  // ": …", or "/key: …"
    const std::string_view key = rest.substr(0, rest.find(": "));
    const std::string_view own = std::string_view(pointer).substr(end);
    const bool deeper = !key.empty() && (key[0] != '/' || key.find('/', 1) != key.npos);
    const bool unknown =
        rest.find(fmt::format("unknown key {}", ukemi::quoted(own.substr(1)))) != rest.npos;
    if (key == own || deeper || unknown) return {};
    return fmt::format(" (with the keys beside it, {} '{}={{…}},{{…}}' varies it)", option,
                       section);
}

}  // namespace

VariedKey parse_varied_key(std::string_view argument) {
    const std::size_t equals = argument.find('=');
    if (!argument.starts_with('/') || equals == std::string_view::npos) {
        throw InputError(
            option, "",
            fmt::format("expected /json/pointer=VALUE,VALUE…, found {}", ukemi::quoted(argument)));
    }
    const std::string_view pointer = argument.substr(0, equals);
    ValueList list(argument.substr(equals + 1), place_of(pointer));
    return {std::string(pointer), list.values()};
}

void for_each_variant(std::span<const ConfigOverride> overrides, std::span<const VariedKey> keys,
                      const ReadVariant& read) {
    check_keys(overrides, keys);
    const std::size_t count = count_of(keys);
    for (std::size_t number = 0; number < count; ++number) {
        const std::vector<records::VariedValue> varied = combination(keys, number);
        try {
            read_with(overrides, varied, read);
        } catch (const InputError& error) {
            if (varied.empty()) throw;
            const auto blamed = culprits(overrides, varied, read, error.what());
            std::vector<std::string> complaints = lines_of(error);
            for (std::string& one : complaints) {
                if (one.starts_with(option)) continue;
                one = fmt::format("{}: {}{}", place_of(variant_label(blamed)), one,
                                  beside_it(blamed, one));
            }
            throw InputErrors(complaints);
        }
    }
}

std::vector<Scenario> variants_from_text(std::string_view text, const std::filesystem::path& file,
                                         std::span<const ConfigOverride> overrides,
                                         std::span<const VariedKey> keys) {
    std::vector<Scenario> variants;
    for_each_variant(overrides, keys, [&](auto all, auto varied) {
        variants.push_back(scenario_from_text(text, file, all));
        variants.back().varied.assign(varied.begin(), varied.end());
    });
    return variants;
}

InputError about_variant(const InputError& error, std::span<const records::VariedValue> varied) {
    const std::string_view complaint = error.what();
    if (varied.empty() || complaint.starts_with(option)) return error;
    return InputError(place_of(variant_label(varied)), "", complaint);
}

}  // namespace ukemi::scenarios
