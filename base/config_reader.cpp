// config_reader.cpp — the document and what is found in it; the tree itself is json_document's, the
// values are config_values.cpp's.
#include "base/config_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/complaint_list.hpp"
#include "base/json_document.hpp"
#include "base/key_notes.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"

namespace ukemi {

using nlohmann::json;

namespace {

constexpr std::size_t config_bytes_max = std::size_t{16} << 20;

// What a key that is missing gives while other mistakes are looked for.
const json& missing_value() {
    static const json missing(json::value_t::discarded);
    return missing;
}
const json& no_keys() {
    static const json none = json::object();
    return none;
}

}  // namespace

struct ConfigReader::Document {
    std::string file;
    json root;      // as written: questions such as has() are about this one
    json resolved;  // the same, and every default that was used
};

ConfigOverride parse_override(std::string_view argument) {
    const std::size_t equals = argument.find('=');
    if (!argument.starts_with('/') || equals == std::string_view::npos) {
        throw InputError(
            "--set", "",
            fmt::format("expected /json/pointer=VALUE, found {}", ukemi::quoted(argument)));
    }
    ConfigOverride set;
    set.pointer = argument.substr(0, equals);
    set.value = argument.substr(equals + 1);
    return set;
}

ConfigReader::ConfigReader(std::shared_ptr<Document> document, const json& node, std::string path)
    : document_(std::move(document)), node_(&node), path_(std::move(path)) {
    if (node.is_object()) return;
    if (KeyExplorer::of(file()) == nullptr) {
        fail("", fmt::format("expected an object, found {}", describe(node)));
    }
    node_ = &no_keys();
}

ConfigReader ConfigReader::from_file(const std::filesystem::path& file,
                                     std::span<const ConfigOverride> overrides) {
    return from_text(read_file(file, config_bytes_max), file.string(), overrides);
}

ConfigReader ConfigReader::from_text(std::string_view text, std::string_view file,
                                     std::span<const ConfigOverride> overrides) {
    if (text.size() > config_bytes_max) {
        throw InputError(
            file, "",
            fmt::format("expected at most {} bytes, found {}", config_bytes_max, text.size()));
    }
    auto document = std::make_shared<Document>();
    document->file = file;
    document->root = parse_json(text, file);
    for (const ConfigOverride& set : overrides) {
        apply_override(document->root, set.pointer, set.value, set.option);
    }
    document->resolved = document->root;
    const json& root = document->root;
    return ConfigReader(std::move(document), root, "");
}

// ---- finding -----------------------------------------------------------------------------------

const json& ConfigReader::find(std::string_view key) {
    const auto found = node_->find(key);
    read_keys_.emplace_back(key);
    if (found != node_->end()) return *found;
    std::vector<std::string_view> unread;
    for (const auto& item : node_->items()) {
        if (std::ranges::find(read_keys_, item.key()) == read_keys_.end()) {
            unread.push_back(item.key());
        }
    }
    // The key may be there under a misspelt name; that name must not read as the right one.
    const std::string_view nearest = nearest_name(key, unread);
    complain(
        *this, "",
        fmt::format("missing key {}{}", ukemi::quoted(key),
                    nearest.empty() ? "" : fmt::format("; there is {}", ukemi::quoted(nearest))));
    if (!nearest.empty()) read_keys_.emplace_back(nearest);  // one complaint of it is enough
    return missing_value();
}

// What is written under an optional key; null, and the default in the resolved document, if
// nothing is. A null default is not noted.
const json* ConfigReader::find_or_note(std::string_view key, const json& otherwise) {
    if (node_->contains(key)) return &find(key);
    read_keys_.emplace_back(key);
    if (!otherwise.is_null() && KeyExplorer::of(file()) == nullptr) {
        document_->resolved[json::json_pointer(path_of(key))] = otherwise;
    }
    return nullptr;
}

ConfigReader ConfigReader::object(std::string_view key) {
    KeyExplorer* const explorer = KeyExplorer::of(file());
    if (explorer != nullptr) {
        explorer->note(path_of(key), {.kind = KeyKind::object, .required = true});
    }
    const json& node = find(key);
    if (node.is_discarded() && explorer == nullptr) {
        fail("", fmt::format("missing key {}", ukemi::quoted(key)));  // kept before, and thrown now
    }
    return ConfigReader(document_, node, path_of(key));
}

std::optional<ConfigReader> ConfigReader::object_if_present(std::string_view key) {
    const json* const node = find_or_note(key, nullptr);
    KeyExplorer* const explorer = KeyExplorer::of(file());
    const bool pretended = explorer != nullptr && explorer->is_present(path_of(key), node);
    if (node == nullptr && !pretended) return std::nullopt;
    return object(key);
}

std::vector<ConfigReader> ConfigReader::objects(std::string_view key) {
    KeyExplorer* const explorer = KeyExplorer::of(file());
    if (explorer != nullptr) {
        explorer->note(path_of(key), {.kind = KeyKind::object, .listed = true, .required = true});
        explorer->note_table(path_of(key));
        explorer->note(path_of(key) + "/0", {.kind = KeyKind::object});
    }
    const json& list = find(key);
    std::vector<ConfigReader> readers;
    if (!list.is_array()) {
        if (!list.is_discarded()) {
            complain(*this, key,
                     fmt::format("expected a list of objects, found {}", describe(list)));
        }
        if (explorer != nullptr) {
            readers.push_back(ConfigReader(document_, no_keys(), path_of(key) + "/0"));
        }
        return readers;
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
        readers.push_back(ConfigReader(document_, list[i], fmt::format("{}/{}", path_of(key), i)));
    }
    return readers;
}

std::vector<std::string> ConfigReader::keys() const {
    std::vector<std::string> found;
    for (const auto& item : node_->items()) found.push_back(item.key());
    if (KeyExplorer* const explorer = KeyExplorer::of(file())) {
        explorer->note_table(path_);
        if (found.empty()) found.emplace_back("1");  // most tables are by size
    }
    return found;  // json sorts its keys by their bytes
}

// ---- the rest ----------------------------------------------------------------------------------

bool ConfigReader::has(std::string_view key) {
    asked_keys_.emplace_back(key);
    const bool written = node_->contains(key);
    KeyExplorer* const explorer = KeyExplorer::of(file());
    return explorer == nullptr ? written : explorer->is_present(path_of(key), written);
}

bool ConfigReader::is_object(std::string_view key) {
    const bool there = has(key);
    const bool object = node_->contains(key) && node_->at(std::string(key)).is_object();
    KeyExplorer* const explorer = KeyExplorer::of(file());
    if (explorer == nullptr || !there) return object;
    static constexpr std::array<std::string_view, 2> forms{"value", "object"};
    return explorer->name_at(path_of(key) + "#", forms, forms[object ? 1 : 0]) == forms[1];
}

void ConfigReader::expect_absent(std::initializer_list<std::string_view> keys,
                                 std::string_view problem) {
    if (KeyExplorer::of(file()) != nullptr) return;
    for (const std::string_view key : keys) {
        if (!node_->contains(key)) continue;
        read_keys_.emplace_back(key);  // one complaint of it is enough
        complain(*this, key, problem);
    }
}

void ConfigReader::finish() const {
    if (KeyExplorer::of(file()) != nullptr) return;
    for (const auto& item : node_->items()) {
        const std::string& key = item.key();
        if (std::ranges::find(read_keys_, key) != read_keys_.end()) continue;
        std::vector<std::string_view> known(read_keys_.begin(), read_keys_.end());
        known.insert(known.end(), asked_keys_.begin(), asked_keys_.end());
        std::erase(known, key);  // asked for and not read: it has no use here
        const InputError error(
            file(), path_.empty() ? "/" : path_,
            fmt::format("unknown key {}{}", ukemi::quoted(key), did_you_mean(key, known)));
        ComplaintList* const list = ComplaintList::of(file());
        if (list == nullptr) throw error;
        list->keep(error, false);
    }
}

void ConfigReader::fail(std::string_view key, std::string_view problem) const {
    const std::string path = key.empty() ? path_ : path_of(key);
    throw InputError(document_->file, path.empty() ? "/" : path, problem);
}

std::string ConfigReader::object_text() const { return node_->dump(); }

const std::string& ConfigReader::file() const { return document_->file; }

std::filesystem::path ConfigReader::beside(const std::filesystem::path& given) const {
    if (given.is_absolute()) return given;
    return std::filesystem::path(file()).parent_path() / given;
}

std::string ConfigReader::path_of(std::string_view key) const {
    return fmt::format("{}/{}", path_, pointer_token(key));
}

std::string ConfigReader::resolved() const { return document_->resolved.dump(2); }

}  // namespace ukemi
