// fit_learning.hpp — `ukemi fit --learning`: the laws of learning beside published training.
#pragma once

#include <filesystem>

namespace ukemi::cli {

// Prints a table a study: published, predicted, error and role of each row. `data` holds pollux/,
// sia/ and zeus/ as they are published; what is not there is named and left out.
void print_published_learning(const std::filesystem::path& data);

}  // namespace ukemi::cli
