// option_text.hpp — the options of a command as manual pages and completions show them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace ukemi::cli {

struct OptionText {
    std::vector<std::string> names;    // "-j", "--threads"; a positional's one name without dashes
    std::string value;                 // "FILE", "TEXT"; empty for a flag
    std::vector<std::string> choices;  // the values that there are, where they are few and known
    std::string description;
    bool positional = false;
    bool repeated = false;  // may be given again, or takes several values
};

// In the order of the help text, --help among them.
std::vector<OptionText> option_texts(const CLI::App& command);

}  // namespace ukemi::cli
