// known_answers.hpp — what command lines of clouds print that is no record of a market.
#pragma once

#include <string_view>

namespace ukemi::traces {

// What begins at `head`, and which command or flag gives a record instead; empty where it is none
// of these answers. Holds nothing of the text itself.
std::string_view known_answer(std::string_view head);

}  // namespace ukemi::traces
