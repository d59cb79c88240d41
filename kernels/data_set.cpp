// data_set.cpp — the readers, and the random teacher.
#include "kernels/data_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/input_error.hpp"
#include "base/read_file.hpp"
#include "base/rng.hpp"
#include "base/text_scan.hpp"
#include "kernels/data_complaint.hpp"

namespace ukemi::kernels {
namespace {

constexpr std::array<std::string_view, 3> kinds{"synthetic", "idx", "digits"};
constexpr std::string_view fashion_mnist = "/usr/share/datasets/fashion-mnist/";
constexpr std::int32_t classes_max = 256;  // a label is one byte
// 4 GiB of features, and far more than anything that a CPU trains on in a sitting.
constexpr std::int64_t values_max = std::int64_t{1} << 30;

[[noreturn]] void refuse_data(std::string_view file, std::string_view problem) {
    throw InputError(file, "", problem);
}

std::string too_many_values(std::int64_t count, std::int64_t features) {
    return fmt::format("expected at most {} values, found {} samples of {}", values_max, count,
                       features);
}

void check_values(std::string_view file, std::int64_t count, std::int64_t features) {
    if (count == 0 || features == 0) refuse_data(file, "expected samples, found none");
    if (features > values_max / count) refuse_data(file, too_many_values(count, features));
}

std::int64_t at_most(std::int64_t samples_max, std::int64_t count) {
    return samples_max > 0 ? std::min(samples_max, count) : count;
}

// ---- IDX (LeCun, Cortes and Burges, «The MNIST database»): 0, 0, type, dimensions, their sizes
// as big-endian 32-bit numbers, then the elements, the last dimension fastest ----

std::uint8_t byte_at(std::string_view bytes, std::size_t index) {
    return static_cast<std::uint8_t>(bytes[index]);
}

struct IdxView {
    std::int64_t count = 0;     // of the first dimension
    std::int64_t elements = 0;  // of all others together, so per sample
    std::string_view values;    // one byte each
};

IdxView parse_idx_header(std::string_view bytes, std::string_view file, int dimensions_min,
                         int dimensions_max) {
    constexpr int unsigned_byte = 0x08;
    if (bytes.size() < 4) {
        refuse_data(file, fmt::format("expected an IDX header, found {} bytes", bytes.size()));
    }
    if (byte_at(bytes, 0) != 0 || byte_at(bytes, 1) != 0) {
        refuse_data(file, "expected an IDX file, which begins with two zero bytes, found another");
    }
    if (byte_at(bytes, 2) != unsigned_byte) {
        refuse_data(file,
                    fmt::format("expected IDX elements of type 0x08 (unsigned bytes) in byte 2, "
                                "found type {:#04x}",
                                byte_at(bytes, 2)));
    }
    const int dimensions = byte_at(bytes, 3);
    if (dimensions < dimensions_min || dimensions > dimensions_max) {
        refuse_data(file, fmt::format("expected {} dimensions in byte 3, found {}",
                                      dimensions_min == dimensions_max
                                          ? fmt::format("{}", dimensions_min)
                                          : fmt::format("{} to {}", dimensions_min, dimensions_max),
                                      dimensions));
    }
    const std::size_t header = 4 + 4 * static_cast<std::size_t>(dimensions);
    if (bytes.size() < header) refuse_data(file, "is cut short in its IDX header");
    IdxView view{.count = 0, .elements = 1, .values = bytes.substr(header)};
    for (int k = 0; k < dimensions; ++k) {
        std::int64_t size = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            size = size * 256 + byte_at(bytes, 4 + 4 * static_cast<std::size_t>(k) + i);
        }
        if (k == 0) {
            view.count = size;
        } else if (size > values_max || view.elements * size > values_max) {
            refuse_data(file, fmt::format("expected at most {} values a sample, found more in the "
                                          "header (byte {})",
                                          values_max, 4 + 4 * k));
        } else {
            view.elements *= size;
        }
    }
    check_values(file, view.count, view.elements);
    const auto expected = static_cast<std::size_t>(view.count * view.elements);
    if (view.values.size() != expected) {
        refuse_data(file, fmt::format("expected {} bytes after the header, as that says, found {}",
                                      expected, view.values.size()));
    }
    return view;
}

// ---- CSV ----

struct Line {
    std::string_view text;
    std::size_t number = 0;  // from 1
};

// The fields of one line, whole numbers from 0 to what each may be at most.
void parse_line(const Line& line, std::string_view file, std::int64_t pixel_max,
                std::int64_t label_max, std::span<std::int64_t> fields) {
    std::string_view rest = line.text;
    for (std::size_t k = 0; k < fields.size(); ++k) {
        const auto column = static_cast<std::size_t>(rest.data() - line.text.data()) + 1;
        const bool last = k + 1 == fields.size();
        const std::size_t comma = rest.find(',');
        if (!last && comma == std::string_view::npos) {
            throw InputError(file, line.number, line.text.size() + 1,
                             fmt::format("expected {} numbers, found {}", fields.size(), k + 1));
        }
        const std::string_view field = last ? rest : rest.substr(0, comma);
        const std::int64_t max = last ? label_max : pixel_max;
        const auto value = parse_whole(field, DecimalGrammar::relaxed);
        if (!value || *value < 0 || *value > max) {
            throw InputError(file, line.number, column,
                             fmt::format("expected a whole number from 0 to {}, found {}", max,
                                         value ? ukemi::quoted(field) : "another text"));
        }
        fields[k] = *value;
        if (!last) rest.remove_prefix(comma + 1);
    }
}

// ---- the teacher ----

DataComplaint synthetic_complaint(const DataSpec& spec) {
    const auto outside = [](std::string_view key, std::int64_t value, std::int64_t min,
                            std::int64_t max) -> DataComplaint {
        if (value >= min && value <= max) return {};
        return {std::string(key),
                fmt::format("expected an integer from {} to {}, found {}", min, max, value)};
    };
    for (const DataComplaint& one : {outside("samples", spec.samples, 1, values_max),
                                     outside("features", spec.features, 1, 1 << 20),
                                     outside("classes", spec.classes, 2, classes_max)}) {
        if (!one.problem.empty()) return one;
    }
    if (spec.features <= values_max / spec.samples) return {};
    return {"samples", too_many_values(spec.samples, spec.features)};
}

// Each class's score of a sample is a random linear form of its centred features, scaled to a
// variance of 1, plus normal noise. With a standard deviation of 0.25 the teacher itself, without
// the noise, agrees with about 80 % of the labels of ten classes.
DataSet make_synthetic(const DataSpec& spec) {
    constexpr double noise = 0.25;
    constexpr double uniform_variance = 1.0 / 12;
    const auto features = static_cast<std::size_t>(spec.features);
    const auto classes = static_cast<std::size_t>(spec.classes);
    std::vector<double> teacher(classes * features);
    RandomStream teacher_random(spec.seed, "data/synthetic/teacher");
    const double deviation = 1 / std::sqrt(static_cast<double>(spec.features) * uniform_variance);
    for (double& weight : teacher) weight = teacher_random.normal(0, deviation);

    DataSet data{.count = spec.samples,
                 .features = spec.features,
                 .classes = spec.classes,
                 .values = {},
                 .labels = {}};
    data.values.resize(static_cast<std::size_t>(spec.samples) * features);
    data.labels.resize(static_cast<std::size_t>(spec.samples));
    RandomStream random(spec.seed, "data/synthetic/samples");
    for (std::size_t i = 0; i < data.labels.size(); ++i) {
        const std::span<float> sample = std::span(data.values).subspan(i * features, features);
        for (float& value : sample) value = static_cast<float>(random.uniform());
        double best = -std::numeric_limits<double>::infinity();
        for (std::size_t k = 0; k < classes; ++k) {
            double score = random.normal(0, noise);
            for (std::size_t j = 0; j < features; ++j) {
                score += teacher[k * features + j] * (static_cast<double>(sample[j]) - 0.5);
            }
            if (score <= best) continue;
            best = score;
            data.labels[i] = static_cast<std::uint8_t>(k);
        }
    }
    return data;
}

DataSet load_idx(const DataSpec& spec) {
    std::filesystem::path images = spec.images;
    std::filesystem::path labels = spec.labels;
    if (images.empty()) {
        const std::filesystem::path folder = fashion_mnist;
        images = folder / "train-images-idx3-ubyte.gz";
        labels = folder / "train-labels-idx1-ubyte.gz";
        if (!std::filesystem::exists(images)) {
            refuse_data(
                images.string(),
                "is not there: install the Debian package dataset-fashion-mnist, or name the "
                "images and labels");
        }
    }
    const std::string pixels = read_file(images);
    const std::string digits = read_file(labels);
    return parse_idx(pixels, images.string(), digits, labels.string(), spec.samples);
}

}  // namespace

DataSet parse_idx(std::string_view images, std::string_view images_file, std::string_view labels,
                  std::string_view labels_file, std::int64_t samples_max) {
    constexpr int image_dimensions_max = 4;  // channels
    const IdxView pixels = parse_idx_header(images, images_file, 2, image_dimensions_max);
    const IdxView digits = parse_idx_header(labels, labels_file, 1, 1);
    if (digits.count != pixels.count) {
        refuse_data(labels_file,
                    fmt::format("expected {} labels, as many as there are images, found {}",
                                pixels.count, digits.count));
    }
    DataSet data;
    data.count = at_most(samples_max, pixels.count);
    data.features = static_cast<std::int32_t>(pixels.elements);
    data.values.resize(static_cast<std::size_t>(data.count * pixels.elements));
    constexpr float brightest = 255;
    std::ranges::transform(pixels.values.substr(0, data.values.size()), data.values.begin(),
                           [](char c) { return static_cast<std::uint8_t>(c) / brightest; });
    std::uint8_t label_max = 1;
    for (const char c : digits.values) {
        label_max = std::max(label_max, static_cast<std::uint8_t>(c));
    }
    data.classes = label_max + 1;
    data.labels.assign(digits.values.begin(), digits.values.begin() + data.count);
    return data;
}

DataSet parse_digits(std::string_view text, std::string_view file, std::int64_t samples_max) {
    constexpr std::size_t pixels = 64;
    constexpr std::int64_t darkest = 16;
    constexpr std::int64_t label_max = 9;
    DataSet data{
        .count = 0, .features = pixels, .classes = label_max + 1, .values = {}, .labels = {}};
    std::array<std::int64_t, pixels + 1> fields{};
    for (Line line{{}, 1}; !text.empty(); ++line.number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        line.text = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.text.ends_with('\r')) line.text.remove_suffix(1);
        parse_line(line, file, darkest, label_max, fields);
        if (samples_max > 0 && data.count == samples_max) continue;  // still checked
        ++data.count;
        for (std::size_t k = 0; k < pixels; ++k) {
            data.values.push_back(static_cast<float>(fields[k]) / static_cast<float>(darkest));
        }
        data.labels.push_back(static_cast<std::uint8_t>(fields[pixels]));
    }
    check_values(file, data.count, data.features);
    return data;
}

DataComplaint data_complaint(const DataSpec& spec) {
    if (spec.samples < 0) {
        return {"samples", fmt::format("expected 0 or more, found {}", spec.samples)};
    }
    if (spec.kind == "synthetic") return synthetic_complaint(spec);
    if (spec.kind == "idx") {
        if (spec.images.empty() == spec.labels.empty()) return {};
        return {spec.images.empty() ? "images" : "labels",
                "expected both images and labels of an idx data set, or neither"};
    }
    if (spec.kind == "digits") {
        if (!spec.images.empty()) return {};
        return {"images", "expected the file of the digits (csv)"};
    }
    return {"kind", fmt::format("expected synthetic, idx or digits, found {}{}",
                                ukemi::quoted(spec.kind), did_you_mean(spec.kind, kinds))};
}

DataSet load_data(const DataSpec& spec) {
    const DataComplaint complaint = data_complaint(spec);
    if (!complaint.problem.empty()) {
        throw InputError("data", "/" + complaint.key, complaint.problem);
    }
    if (spec.kind == "synthetic") return make_synthetic(spec);
    if (spec.kind == "idx") return load_idx(spec);
    return parse_digits(read_file(spec.images), spec.images.string(), spec.samples);
}

}  // namespace ukemi::kernels
