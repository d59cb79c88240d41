// config_reader.hpp — reads one JSON object, and holds its author to it.
//
// Every error names the file, the JSON path, what was expected and what was found. A key that
// nobody read is an error too: a misspelt option must never become a silent default. Quantities
// are text with a unit ("15 min", "3.06 USD/h"). The forms with a default mark the key optional;
// what was read or defaulted can be printed again as the resolved document.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/input_error.hpp"
#include "base/quantity.hpp"
#include "base/unit_text.hpp"  // parse_duration and its like, for command-line options

namespace ukemi {

// One `--set /json/pointer=VALUE`. The value is JSON where it parses as JSON, else text. It
// replaces what is there or adds a key to an existing object; anything else is an InputError.
// "~1" in a pointer stands for "/", "~0" for "~"; elements of lists are numbered from 0.
struct ConfigOverride {
    std::string pointer;
    std::string value;
    std::string option = "--set";  // that names it, for complaints
};
ConfigOverride parse_override(std::string_view argument);  // "/pointer=VALUE"

class ConfigReader {
public:
    static ConfigReader from_file(const std::filesystem::path& file,
                                  std::span<const ConfigOverride> overrides = {});
    static ConfigReader from_text(std::string_view text, std::string_view file,
                                  std::span<const ConfigOverride> overrides = {});

    ConfigReader object(std::string_view key);
    std::optional<ConfigReader> object_if_present(std::string_view key);
    std::vector<ConfigReader> objects(std::string_view key);  // a list of objects, maybe empty
    std::vector<std::string> texts(std::string_view key);     // a list of texts
    std::vector<double> numbers(std::string_view key, double min, double max);  // a list of them
    std::vector<std::string> keys() const;  // as written, sorted

    std::string text(std::string_view key);
    std::string text(std::string_view key, std::string_view otherwise);
    std::string one_of(std::string_view key, std::span<const std::string_view> names);
    std::string one_of(std::string_view key, std::span<const std::string_view> names,
                       std::string_view otherwise);
    // One of the names, or a file: whatever ends so ("mine.json").
    std::string name_or_file(std::string_view key, std::span<const std::string_view> names,
                             std::string_view file_ending);
    // The value of an enumeration whose names stand in the order of its values from 0.
    template <class Kind>
    Kind choice(std::string_view key, std::span<const std::string_view> names,
                std::string_view otherwise) {
        const std::string name = one_of(key, names, otherwise);
        return static_cast<Kind>(std::ranges::find(names, name) - names.begin());
    }
    bool flag(std::string_view key, bool otherwise);
    std::int64_t integer(std::string_view key, std::int64_t min, std::int64_t max);
    std::int64_t integer(std::string_view key, std::int64_t min, std::int64_t max,
                         std::int64_t otherwise);
    double number(std::string_view key, double min, double max);
    double number(std::string_view key, double min, double max, double otherwise);
    // "90 s": ns, us, ms, s, min, h, d. Never negative.
    Duration duration(std::string_view key);
    Duration duration(std::string_view key, Duration otherwise);
    Price price(std::string_view key);  // "3.06 USD/h", never negative
    Price price(std::string_view key, Price otherwise);
    Bytes bytes(std::string_view key);                         // "20 GB"
    BytesPerSecond bandwidth(std::string_view key);            // "10 Gbit/s"
    EgressPrice egress_price(std::string_view key);            // "0.02 USD/GB"
    double rate(std::string_view key, std::string_view unit);  // "120 samples/s" > 0

    bool has(std::string_view key);        // knows the key from now on, as a name that may be meant
    bool is_object(std::string_view key);  // and not text or a number; knows it, too
    // Of keys that another form of this object has: complains of those that stand here.
    void expect_absent(std::initializer_list<std::string_view> keys, std::string_view problem);
    // Call last: throws if this object has a key that was never read.
    void finish() const;
    [[noreturn]] void fail(std::string_view key, std::string_view problem) const;

    const std::string& file() const;
    // "FILE: at PATH/KEY": what complaints of a key's value begin with.
    std::string place_of(std::string_view key) const;
    // A file that the document names: relative names are looked for in the document's folder.
    std::filesystem::path beside(const std::filesystem::path& given) const;
    // What `read` makes of a file that this key names. What it complains of in that file is
    // complained of here: "FILE: at PATH/KEY: NAMED FILE: problem".
    template <class Read>
    auto of_file(std::string_view key, const Read& read) const {
        try {
            return read();
        } catch (const InputError& error) {
            fail(key, error.what());
        }
    }
    std::string object_text() const;  // this object as JSON, as it was written
    const std::string& path() const { return path_; }
    // The document as it was read so far, defaults filled in, keys sorted, two-space indent.
    // Reading it again gives the same values. (A default outside the range of its key is left out:
    // it means "not set", and the key itself could not say it.)
    std::string resolved() const;

private:
    struct Document;
    ConfigReader(std::shared_ptr<Document> document, const nlohmann::json& node, std::string path);
    const nlohmann::json& find(std::string_view key);
    const nlohmann::json* find_or_note(std::string_view key, const nlohmann::json& otherwise);
    std::int64_t checked_integer(std::string_view key, const nlohmann::json& value,
                                 std::int64_t min, std::int64_t max) const;
    double checked_number(std::string_view key, const nlohmann::json& value, double min,
                          double max) const;
    std::string checked_text(std::string_view key, const nlohmann::json& value) const;
    std::string checked_name(std::string_view key, const nlohmann::json& value,
                             std::span<const std::string_view> names) const;
    std::string checked_quantity(std::string_view key, const nlohmann::json& value,
                                 std::string_view form) const;
    std::string path_of(std::string_view key) const;

    std::shared_ptr<Document> document_;
    const nlohmann::json* node_;
    std::string path_;
    std::vector<std::string> read_keys_;
    std::vector<std::string> asked_keys_;  // with has(), and perhaps never read
};

}  // namespace ukemi
