// agent_secret.hpp — the secret that a user gives to a run and to its agents.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/messages.hpp"

namespace ukemi::runtime {

// In the environment, where no file is named.
inline constexpr const char* agent_secret_variable = "UKEMI_AGENT_SECRET";
inline constexpr const char* redis_password_variable = "UKEMI_REDIS_PASSWORD";

// What follows from the file's text, or the variable's if no file is named; the variable is wiped.
// InputError if there is none, if it is short, or if others may read the file.
Secret read_agent_secret(const std::filesystem::path& file);

// Of a Redis, from such a file or UKEMI_REDIS_PASSWORD; empty if neither is given.
std::string read_redis_password(const std::filesystem::path& file);

}  // namespace ukemi::runtime
