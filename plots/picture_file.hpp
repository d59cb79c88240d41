// picture_file.hpp — whether a picture is all there: gnuplot does not look whether it could write.
#pragma once

#include <filesystem>
#include <string>

namespace ukemi::plots {

// What is wrong with an SVG, PNG or PDF, by its ending: "is missing", "is cut short"; empty if
// nothing is.
std::string picture_problem(const std::filesystem::path& picture);

}  // namespace ukemi::plots
