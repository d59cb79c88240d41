#include "analysis/typed_command.hpp"

#include <vector>

#include "base/plain_text.hpp"
#include "base/shell_word.hpp"

namespace ukemi::analysis {

namespace {

std::string& kept_command() {
    static std::string line;
    return line;
}

}  // namespace

void keep_typed_command(std::span<char* const> arguments) {
    std::vector<std::string> words;
    for (const char* const one : arguments) words.push_back(one_line(one));
    kept_command() = shell_line(words);
}

const std::string& typed_command() { return kept_command(); }

}  // namespace ukemi::analysis
