// key_notes.hpp — which keys a reader of documents knows, found by letting it read.
//
// What is read is written down once, in the code that reads it. `keys_of` hands that code documents
// in which keys that it only asks about are there, one after another, and writes down what it asks
// for: kind, bounds, names, default. A JSON schema and the list of a policy's parameters come from
// these notes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ukemi {

class ConfigReader;

enum class KeyKind : std::uint8_t {
    text,
    name,  // one of `names`
    flag,
    integer,
    number,
    duration,
    price,
    egress_price,
    bytes,
    bandwidth,
    rate,
    object,
};

struct KeyNote {
    std::string path = {};  // JSON pointer; elements of lists and keys of tables are "*"
    KeyKind kind = KeyKind::text;
    bool listed = false;  // a list of these
    bool required = false;
    bool needed = false;               // where it is read, which some kinds may not do
    std::optional<double> least = {};  // of numbers and integers
    std::optional<double> most = {};
    std::vector<std::string> names = {};
    std::string file_ending = {};  // ".json": or a file that ends so
    std::string unit = {};         // of a rate
    std::string limits = {};       // of a duration, for people: "from 1 s to 30 d"
    std::string otherwise = {};    // the default as JSON, or empty
};

// Its kind of value with bounds, as people say it: "an integer from 1 to 9", "a duration".
std::string value_text(const KeyNote& note);

// What one reading asks for, and what it is told. While one lives, in this thread, readers of the
// file give some value for what is missing, and only their `fail` throws.
class KeyExplorer {
public:
    explicit KeyExplorer(std::string_view file);
    ~KeyExplorer();
    KeyExplorer(const KeyExplorer&) = delete;
    KeyExplorer& operator=(const KeyExplorer&) = delete;
    static KeyExplorer* of(std::string_view file);  // null: the document is read as it is

    // Told to the reader: keys that are there although nobody wrote them, and names at other keys.
    std::set<std::string> present;
    std::map<std::string, std::string> named;

    // From the reader, with paths as they are written.
    void note(const std::string& path, KeyNote note);
    void note_table(const std::string& path) { tables_.insert(noted(path)); }
    bool is_present(const std::string& path, bool written);
    std::string name_at(const std::string& path, std::span<const std::string_view> names,
                        std::string_view written);

    // For keys_of.
    std::vector<KeyNote> notes;
    std::set<std::string> optional;  // it asked whether they are there
    std::set<std::string> absent;    // and they were not
    std::map<std::string, std::vector<std::string>> choices;

private:
    std::string noted(const std::string& path) const;

    std::string file_;
    std::set<std::string> tables_;  // and lists: what lies in them is "*"
    KeyExplorer* around_;
};

// Of a duration that is read within bounds.
void note_limits(const ConfigReader& section, std::string_view key, const std::string& limits);

// The keys that `read` knows, by path; of one path every kind that it was read as. Each example is
// a document that it reads without a complaint: together they have every one of those keys of which
// one excludes another. Bounds and names that differ between readings depend on the document and
// are left out.
std::vector<KeyNote> keys_of(std::span<const std::string> examples,
                             const std::function<void(ConfigReader&)>& read);

}  // namespace ukemi
