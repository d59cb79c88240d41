// data_set.hpp — labelled samples in memory, from IDX files, the UCI digits or a random teacher.
//
// Files are distrusted: sizes are checked against the header before anything is allocated; errors
// are InputErrors that name the file and the place. Features are scaled to [0, 1]. The synthetic
// set has uniform features, and as label the class to which a random linear teacher gives most
// after noise: a linear model learns it, and none gets all of it right. It is a function of its
// spec, the same on every machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ukemi::kernels {

struct DataSpec {
    std::string kind = "synthetic";  // "synthetic", "idx", "digits"
    // idx: the images file; digits: the csv (8×8 pixels of 0 to 16, then the digit). May be
    // gzipped. With neither images nor labels, idx takes the training part of Debian's
    // dataset-fashion-mnist.
    std::filesystem::path images = {};
    std::filesystem::path labels = {};  // idx
    std::int64_t samples = 0;           // synthetic: how many; else at most so many (0: all)
    std::int32_t features = 0;          // synthetic
    std::int32_t classes = 0;           // synthetic
    std::uint64_t seed = 0;             // synthetic
};

struct DataSet {
    std::int64_t count = 0;
    std::int32_t features = 0;
    std::int32_t classes = 0;
    std::vector<float> values;         // count × features, sample after sample
    std::vector<std::uint8_t> labels;  // < classes
    std::span<const float> sample(std::int64_t index) const {
        return std::span(values).subspan(static_cast<std::size_t>(index * features),
                                         static_cast<std::size_t>(features));
    }
};

DataSet load_data(const DataSpec& spec);

// The parts, for tests and fuzzing: what a file's bytes hold. `samples_max` as in DataSpec; the
// classes are those of the whole file.
DataSet parse_idx(std::string_view images, std::string_view images_file, std::string_view labels,
                  std::string_view labels_file, std::int64_t samples_max);
DataSet parse_digits(std::string_view text, std::string_view file, std::int64_t samples_max);

}  // namespace ukemi::kernels
