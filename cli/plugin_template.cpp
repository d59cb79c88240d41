#include "cli/plugin_template.hpp"

#include <cctype>

namespace ukemi::cli {

namespace {

constexpr std::string_view build_file = R"code(cmake_minimum_required(VERSION 3.18)
project(NAME LANGUAGES CXX)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_package(ukemi REQUIRED)  # -DCMAKE_PREFIX_PATH=… where it is installed

# What ukemi loads; the functions it uses are ukemi's.
add_library(NAME MODULE NAME.cpp)
set_target_properties(NAME PROPERTIES PREFIX "")
target_link_libraries(NAME PRIVATE ukemi::headers)

enable_testing()
add_executable(NAME_test NAME_test.cpp NAME.cpp)
target_link_libraries(NAME_test PRIVATE ukemi::LIBRARY)
add_test(NAME NAME_test COMMAND NAME_test)
)code";

std::string camel_case(std::string_view name) {
    std::string text;
    bool begins = true;
    for (const char c : name) {
        if (c == '_') {
            begins = true;
            continue;
        }
        text += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
        begins = false;
    }
    return text;
}

std::string with(std::string text, std::string_view hole, std::string_view value) {
    for (std::size_t at = text.find(hole); at != std::string::npos;
         at = text.find(hole, at + value.size())) {
        text.replace(at, hole.size(), value);
    }
    return text;
}

}  // namespace

FilledFiles filled_template(std::span<const TemplateFile> files, std::string_view library,
                            std::string_view name) {
    const auto filled = [&](std::string_view text) {
        return with(with(std::string(text), "NAME", name), "CLASS", camel_case(name));
    };
    FilledFiles all;
    all.emplace_back("CMakeLists.txt", with(filled(build_file), "LIBRARY", library));
    for (const TemplateFile& file : files) all.emplace_back(filled(file.name), filled(file.text));
    return all;
}

}  // namespace ukemi::cli
