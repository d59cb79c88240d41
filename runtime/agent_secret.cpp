#include "runtime/agent_secret.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/input_error.hpp"
#include "base/read_file.hpp"
#include "kernels/secure_stream.hpp"

namespace ukemi::runtime {

namespace {

// One that is shorter may have been thought up, and is then found by trying.
constexpr std::size_t characters_least = 32;

std::string text_of_file(const std::filesystem::path& file) {
    std::string text = read_file(file);
    struct stat about {};
    if (::stat(file.c_str(), &about) == 0 && (about.st_mode & 077U) != 0) {
        throw InputError(file.string(), "",
                         "others may read this secret: expected mode 0600 (chmod 600)");
    }
    text.erase(text.find_last_not_of(" \t\r\n") + 1);
    return text;
}

// From the variable, which is wiped; nothing if it is not set.
std::optional<std::string> text_of_variable(const char* name) {
    char* const value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    std::string text = value;
    ::explicit_bzero(value, std::strlen(value));
    ::unsetenv(name);
    return text;
}

}  // namespace

std::string read_redis_password(const std::filesystem::path& file) {
    if (!file.empty()) return text_of_file(file);
    return text_of_variable(redis_password_variable).value_or("");
}

Secret read_agent_secret(const std::filesystem::path& file) {
    std::string text;
    std::string where = agent_secret_variable;
    if (!file.empty()) {
        where = file.string();
        text = text_of_file(file);
    } else if (auto value = text_of_variable(agent_secret_variable)) {
        text = std::move(*value);
    } else {
        throw InputError("--secret-file", "",
                         fmt::format("expected it, or the secret in {}", agent_secret_variable));
    }
    if (text.size() < characters_least) {
        throw InputError(where, "",
                         fmt::format("expected a secret of {} characters at least, as from "
                                     "`head -c 32 /dev/urandom | base64`",
                                     characters_least));
    }
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    return kernels::derived_key(bytes, "ukemi agents");
}

}  // namespace ukemi::runtime
