// policy_template.hpp — a policy of one's own to begin with, as `ukemi init policy` writes it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ukemi::cli {

// The files of its folder, by name, with their texts. The policy's name is of small letters, digits
// and underscores.
std::vector<std::pair<std::string, std::string>> policy_template(std::string_view name);

}  // namespace ukemi::cli
