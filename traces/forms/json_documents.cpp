// json_documents.cpp — counts brackets outside of texts; the strict scanner sees each part again.
#include "traces/forms/json_documents.hpp"

#include <algorithm>
#include <cstddef>

namespace ukemi::traces {

std::vector<JsonDocument> json_documents(std::string_view text) {
    std::vector<JsonDocument> documents;
    std::size_t begin = 0;
    std::size_t line_of_begin = 1;
    std::size_t depth = 0;
    bool in_text = false;
    const auto lines = [&](std::size_t from, std::size_t to) {
        return static_cast<std::size_t>(std::ranges::count(text.substr(from, to - from), '\n'));
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_text) {
            if (c == '\\') ++i;
            if (c == '"') in_text = false;
            continue;
        }
        if (c == '"') in_text = true;
        if (c == '{' || c == '[') ++depth;
        if ((c == '}' || c == ']') && depth > 0 && --depth == 0) {
            documents.push_back({text.substr(begin, i + 1 - begin), line_of_begin});
            const std::size_t next =
                std::min(text.find_first_not_of(" \t\r\n", i + 1), text.size());
            line_of_begin += lines(begin, next);
            begin = next;
        }
    }
    const std::string_view rest = text.substr(begin);
    if (documents.empty() || !rest.empty()) {
        documents.push_back({rest, line_of_begin});
    } else {
        const std::string_view last = documents.back().text;
        documents.back().text = text.substr(static_cast<std::size_t>(last.data() - text.data()));
    }
    return documents;
}

bool has_json_key(std::string_view text, std::string_view key) {
    for (std::size_t at = text.find(key); at != std::string_view::npos;
         at = text.find(key, at + 1)) {
        const bool opens = at > 0 && text[at - 1] == '"';
        if (opens && text.substr(at + key.size()).starts_with('"')) return true;
    }
    return false;
}

}  // namespace ukemi::traces
