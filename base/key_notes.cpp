// key_notes.cpp — reads each example as it is, then with one more key or another name at a time,
// until nothing new is asked for.
#include "base/key_notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "base/config_reader.hpp"
#include "base/invariant.hpp"
#include "base/json_document.hpp"

namespace ukemi {

namespace {

constexpr std::string_view example_name = "an example";
thread_local KeyExplorer* innermost_explorer = nullptr;

}  // namespace

KeyExplorer::KeyExplorer(std::string_view file) : file_(file), around_(innermost_explorer) {
    innermost_explorer = this;
}

KeyExplorer::~KeyExplorer() { innermost_explorer = around_; }

KeyExplorer* KeyExplorer::of(std::string_view file) {
    const bool meant = innermost_explorer != nullptr && innermost_explorer->file_ == file;
    return meant ? innermost_explorer : nullptr;
}

std::string KeyExplorer::noted(const std::string& path) const {
    std::string all;
    for (std::size_t begin = 0; begin < path.size();) {
        const std::size_t end = std::min(path.find('/', begin + 1), path.size());
        all += tables_.contains(all) ? "/*" : path.substr(begin, end - begin);
        begin = end;
    }
    return all;
}

void KeyExplorer::note(const std::string& path, KeyNote note) {
    note.path = noted(path);
    notes.push_back(std::move(note));
}

void note_limits(const ConfigReader& section, std::string_view key, const std::string& limits) {
    KeyExplorer* const explorer = KeyExplorer::of(section.file());
    if (explorer == nullptr || explorer->notes.empty()) return;
    INVARIANT(explorer->notes.back().path.ends_with("*") ||
              explorer->notes.back().path.ends_with(pointer_token(key)));
    explorer->notes.back().limits = limits;
}

bool KeyExplorer::is_present(const std::string& at, bool written) {
    const std::string path = noted(at);
    optional.insert(path);
    if (written || present.contains(path)) return true;
    absent.insert(path);
    return false;
}

std::string KeyExplorer::name_at(const std::string& at, std::span<const std::string_view> names,
                                 std::string_view written) {
    const std::string path = noted(at);
    choices[path].assign(names.begin(), names.end());
    const auto told = named.find(path);
    if (told != named.end() && std::ranges::find(names, told->second) != names.end()) {
        return told->second;
    }
    if (std::ranges::find(names, written) != names.end()) return std::string(written);
    return std::string(names.front());
}

namespace {

constexpr std::size_t readings_max = 20'000;

struct Reading {
    std::size_t example = 0;
    std::set<std::string> present;
    std::map<std::string, std::string> named;
};

class Exploration {
public:
    Exploration(std::span<const std::string> examples,
                const std::function<void(ConfigReader&)>& read)
        : examples_(examples), read_(read) {}

    std::vector<KeyNote> all() {
        for (std::size_t example = 0; example < examples_.size(); ++example) {
            waiting_.push_back({example, {}, {}});
        }
        for (std::size_t count = 0; !waiting_.empty() && count < readings_max; ++count) {
            const Reading next = std::move(waiting_.front());
            waiting_.pop_front();
            if (is_news(next)) read(next);
        }
        for (KeyNote& note : notes_) {
            note.needed = !optional_.contains(note.path) && note.required;
            note.required = note.needed && asked_[note.path] == visits_of(parent_of(note.path));
        }
        std::ranges::stable_sort(notes_, {}, &KeyNote::path);
        return std::move(notes_);
    }

private:
    static std::string parent_of(const std::string& path) {
        return path.substr(0, path.rfind('/'));
    }
    int visits_of(const std::string& object) {
        return object.empty() ? completed_ : asked_[object];
    }

    // Whether what it adds has not been read by now, in another example or beside another key.
    bool is_news(const Reading& reading) const {
        for (const std::string& path : reading.present) {
            if (!done_.contains(path)) return true;
        }
        for (const auto& [path, name] : reading.named) {
            if (!done_.contains(path + "=" + name)) return true;
        }
        return reading.present.empty() && reading.named.empty();
    }

    void read(const Reading& reading) {
        KeyExplorer explorer(example_name);
        explorer.present = reading.present;
        explorer.named = reading.named;
        bool completed = true;
        try {
            ConfigReader root = ConfigReader::from_text(examples_[reading.example], example_name);
            read_(root);
        } catch (const InputError&) {  // this key does not go with these
            completed = false;
        }
        for (const KeyNote& note : explorer.notes) {
            const bool there = explorer.optional.contains(note.path);
            if (there && !explorer.absent.contains(note.path)) done_.insert(note.path);
            take(note);
        }
        optional_.insert(explorer.optional.begin(), explorer.optional.end());
        if (completed) count(explorer);
        for (const auto& [path, name] : reading.named) {
            if (completed) done_.insert(path + "=" + name);
        }
        follow(reading, explorer);
    }

    void take(KeyNote note) {
        for (KeyNote& known : notes_) {
            if (known.path != note.path || known.kind != note.kind || known.listed != note.listed ||
                known.unit != note.unit) {
                continue;
            }
            if (known.least != note.least) known.least.reset();
            if (known.most != note.most) known.most.reset();
            if (known.names != note.names) known.names.clear();
            if (known.limits != note.limits) known.limits.clear();
            if (known.otherwise != note.otherwise) known.otherwise.clear();
            known.required = known.required && note.required;
            return;
        }
        notes_.push_back(std::move(note));
    }

    void count(const KeyExplorer& explorer) {
        ++completed_;
        std::set<std::string> once;
        for (const KeyNote& note : explorer.notes) once.insert(note.path);
        for (const std::string& path : once) ++asked_[path];
    }

    void follow(const Reading& reading, const KeyExplorer& explorer) {
        for (const std::string& path : explorer.absent) {
            if (!tried_.insert({reading.example, path}).second) continue;
            Reading& next = waiting_.emplace_back(reading);
            next.present.insert(path);
        }
        for (const auto& [path, names] : explorer.choices) {
            for (const std::string& name : names) {
                if (!tried_.insert({reading.example, path + "=" + name}).second) continue;
                Reading& next = waiting_.emplace_back(reading);
                next.named[path] = name;
            }
        }
    }

    std::span<const std::string> examples_;
    const std::function<void(ConfigReader&)>& read_;
    std::deque<Reading> waiting_;
    std::vector<KeyNote> notes_;
    std::set<std::pair<std::size_t, std::string>> tried_;
    std::set<std::string> done_;  // keys that were there and read, names that were taken
    std::set<std::string> optional_;
    std::map<std::string, int> asked_;  // in how many readings that came to their end
    int completed_ = 0;
};

}  // namespace

std::vector<KeyNote> keys_of(std::span<const std::string> examples,
                             const std::function<void(ConfigReader&)>& read) {
    return Exploration(examples, read).all();
}

std::string value_text(const KeyNote& note) {
    const auto bound = [&](double value) { return fmt::format("{:.6g}", value); };
    const bool bounded = note.least && note.most && *note.most < 1e15;
    const std::string range =
        bounded ? fmt::format(" from {} to {}", bound(*note.least), bound(*note.most)) : "";
    switch (note.kind) {
        case KeyKind::name: {
            const std::string file =
                note.file_ending.empty() ? "" : fmt::format(", or a file {}", note.file_ending);
            if (note.names.empty()) return "a name" + file;
            return fmt::format("one of {}{}", fmt::join(note.names, ", "), file);
        }
        case KeyKind::flag: return "true or false";
        case KeyKind::integer: return "an integer" + range;
        case KeyKind::number: return "a number" + range;
        case KeyKind::duration:
            return note.limits.empty() ? "a duration" : "a duration " + note.limits;
        case KeyKind::price: return "a price (USD/h)";
        case KeyKind::object: return note.listed ? "a list of objects" : "an object";
        case KeyKind::rate: return "a rate (" + note.unit + ")";
        case KeyKind::egress_price: return "a price (USD/GB)";
        case KeyKind::bytes: return "a size";
        case KeyKind::bandwidth: return "a bandwidth";
        case KeyKind::text: break;
    }
    return "text";
}

}  // namespace ukemi
