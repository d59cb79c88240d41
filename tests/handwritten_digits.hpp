// handwritten_digits.hpp — the 1797 handwritten digits of tests/data/digits, for tests that train.
#pragma once

#include <filesystem>

#include "kernels/data_set.hpp"

namespace ukemi {

inline std::filesystem::path handwritten_digits_file() {
    return std::filesystem::path(UKEMI_SOURCE_DIR) / "tests/data/digits/digits.csv.gz";
}

inline kernels::DataSet handwritten_digits() {
    return kernels::load_data({.kind = "digits", .images = handwritten_digits_file()});
}

}  // namespace ukemi
