// input_error.hpp — what is thrown when the user's input is wrong; main turns it into exit 2.
//
// One line: the file, where in it (a JSON path, or line:column), what was expected and what was
// found. Nothing else is ever thrown for bad input.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ukemi {

class InputError : public std::runtime_error {
public:
    // "file: at /json/path: problem"; the path may be empty.
    InputError(std::string_view file, std::string_view json_path, std::string_view problem);
    // "file:line:column: problem"; lines and columns count from 1.
    InputError(std::string_view file, std::size_t line, std::size_t column,
               std::string_view problem);
};

// The nearest of the known names, the first of equals; empty if none is near.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

// " (did you mean \"x\"?)" for the nearest of the known names, empty if none is near.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> known);

}  // namespace ukemi
