#include "cli/plugin_template.hpp"

#include <cctype>

namespace ukemi::cli {

namespace {

std::string camel_case(std::string_view name) {
    std::string text;
    bool begins = true;
    for (const char c : name) {
        if (c == '_') {
            begins = true;
            continue;
        }
        text += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
        begins = false;
    }
    return text;
}

std::string with(std::string text, std::string_view hole, std::string_view value) {
    for (std::size_t at = text.find(hole); at != std::string::npos;
         at = text.find(hole, at + value.size())) {
        text.replace(at, hole.size(), value);
    }
    return text;
}

}  // namespace

FilledFiles filled_template(std::span<const TemplateFile> files, std::string_view name) {
    const auto filled = [&](std::string_view text) {
        return with(with(std::string(text), "NAME", name), "CLASS", camel_case(name));
    };
    FilledFiles all;
    for (const TemplateFile& file : files) all.emplace_back(filled(file.name), filled(file.text));
    return all;
}

}  // namespace ukemi::cli
