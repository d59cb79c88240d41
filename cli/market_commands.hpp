// market_commands.hpp — the commands that look at recorded markets and set the generator to them.
#pragma once

#include <CLI/CLI.hpp>

namespace ukemi {

void add_describe(CLI::App& app);
void add_fit(CLI::App& app);

}  // namespace ukemi
