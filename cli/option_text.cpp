// option_text.cpp — reads the parser's own description of its options.
#include "cli/option_text.hpp"

#include <string_view>

namespace ukemi::cli {

namespace {

// Of a type as the help text prints it, "TEXT:{none,first,all}": its values.
std::vector<std::string> choices_of(std::string_view type) {
    std::vector<std::string> choices;
    const std::size_t begin = type.find('{');
    if (begin == std::string_view::npos || !type.ends_with('}')) return choices;
    for (std::size_t at = begin + 1; at < type.size();) {
        const std::size_t end = type.find_first_of(",}", at);
        choices.emplace_back(type.substr(at, end - at));
        at = end + 1;
    }
    return choices;
}

OptionText text_of(const CLI::Option& option) {
    OptionText text;
    text.positional = option.get_positional();
    if (text.positional) {
        text.names.push_back(option.get_name());
    } else {
        for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
        for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
    }
    const std::string type = option.get_type_name();
    if (option.get_expected_max() > 0) text.value = type.substr(0, type.find(':'));
    text.choices = choices_of(type);
    text.description = option.get_description();
    text.repeated = option.get_expected_max() > 1;
    return text;
}

}  // namespace

std::vector<OptionText> option_texts(const CLI::App& command) {
    std::vector<OptionText> texts;
    for (const CLI::Option* option : command.get_options()) texts.push_back(text_of(*option));
    return texts;
}

}  // namespace ukemi::cli
