// program_on_path.hpp — a program that an option names, as a shell would find it.
#pragma once

#include <filesystem>
#include <string>

namespace ukemi::cli {

// InputError, which names the option, if there is none.
std::filesystem::path program_on_path(const std::string& name, const char* option);

}  // namespace ukemi::cli
