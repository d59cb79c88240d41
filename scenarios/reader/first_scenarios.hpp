// first_scenarios.hpp — the short scenarios to begin with, as `ukemi init` writes them.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ukemi::scenarios {

struct FirstScenario {
    std::string_view kind;  // the command that runs it
    std::string_view text;  // JSON with comments, and NAME where its name belongs
    std::string_view next;  // what to type then, with FILE for the file
};

std::span<const FirstScenario> first_scenarios();

// The text with that name in it.
std::string named_text(const FirstScenario& first, std::string_view name);

}  // namespace ukemi::scenarios
