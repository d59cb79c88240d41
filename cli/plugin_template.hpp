// plugin_template.hpp — plug-ins to begin with, as `ukemi init` writes them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ukemi::cli {

struct TemplateFile {
    std::string_view name;  // with NAME for the plug-in's
    std::string_view text;  // with NAME, and CLASS for NameLikeThis
};

// The files of a folder, by name, with their texts, and what builds them: the plug-in, and its test
// with the installed library ukemi::LIBRARY. The name is of small letters, digits and underscores.
using FilledFiles = std::vector<std::pair<std::string, std::string>>;
FilledFiles filled_template(std::span<const TemplateFile> files, std::string_view library,
                            std::string_view name);

FilledFiles policy_template(std::string_view name);
FilledFiles trace_form_template(std::string_view name);

}  // namespace ukemi::cli
