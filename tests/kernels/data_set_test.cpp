// data_set_test.cpp — each form read, and every way in which a file lies about itself.
#include "kernels/data_set.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "base/input_error.hpp"
#include "kernels/bit_hash.hpp"
#include "tests/handwritten_digits.hpp"
#include "tests/scratch_folder.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

namespace {

std::string big_endian(std::uint32_t value) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>((value >> shift) & 255U);
    return text;
}

std::string idx(std::initializer_list<std::uint32_t> sizes, const std::string& values,
                char type = 0x08) {
    std::string text{'\0', '\0', type, static_cast<char>(sizes.size())};
    for (const std::uint32_t size : sizes) text += big_endian(size);
    return text + values;
}

const std::string three_images = idx({3, 1, 2}, std::string("\x00\x33\x66\x99\xcc\xff", 6));
const std::string three_labels = idx({3}, std::string("\x02\x00\x01", 3));

std::string complaint(const std::string& images, const std::string& labels) {
    try {
        parse_idx(images, "images", labels, "labels", 0);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

std::string digits_complaint(const std::string& text) {
    try {
        parse_digits(text, "digits.csv", 0);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

std::string load_complaint(const DataSpec& spec) {
    try {
        load_data(spec);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

std::string digits_line(const std::string& first, const std::string& label) {
    std::string line = first;
    for (int k = 1; k < 64; ++k) line += ",8";
    return line + "," + label;
}

DataSpec synthetic(std::int64_t samples, std::int32_t features, std::int32_t classes) {
    return {.kind = "synthetic",
            .images = {},
            .labels = {},
            .samples = samples,
            .features = features,
            .classes = classes,
            .seed = 1};
}

std::uint64_t hash_of(const DataSet& data) {
    BitHash hash;
    hash.add(std::as_bytes(std::span(data.values)));
    hash.add(std::as_bytes(std::span(data.labels)));
    return hash.value();
}

}  // namespace

TEST_CASE("data set: IDX files are read", "[data_set]") {
    const DataSet data = parse_idx(three_images, "images", three_labels, "labels", 0);
    CHECK(data.count == 3);
    CHECK(data.features == 2);
    CHECK(data.classes == 3);
    CHECK(data.labels == std::vector<std::uint8_t>{2, 0, 1});
    CHECK(data.values == std::vector<float>{0.0F, 0.2F, 0.4F, 0.6F, 0.8F, 1.0F});
    CHECK(data.sample(1)[0] == 0.4F);
    // Fewer samples, but the classes of the whole file.
    const DataSet two = parse_idx(three_images, "images", three_labels, "labels", 2);
    CHECK(two.count == 2);
    CHECK(two.values.size() == 4);
    CHECK(two.labels.size() == 2);
    CHECK(two.classes == 3);
    CHECK(parse_idx(three_images, "images", three_labels, "labels", 9).count == 3);
}

TEST_CASE("data set: IDX headers are not believed", "[data_set]") {
    CHECK(complaint(three_images, three_labels) == "accepted");
    CHECK(complaint("abc", three_labels) == "images: expected an IDX header, found 3 bytes");
    CHECK_THAT(complaint("P5 2 2 255", three_labels), Contains("begins with two zero bytes"));
    CHECK_THAT(complaint(idx({3, 1, 2}, "abcdef", 0x0D), three_labels),
               Contains("type 0x08 (unsigned bytes) in byte 2, found type 0x0d"));
    CHECK_THAT(complaint(three_labels, three_labels),
               Contains("images: expected 2 to 4 dimensions in byte 3, found 1"));
    CHECK_THAT(complaint(three_images, three_images),
               Contains("labels: expected 1 dimensions in byte 3, found 3"));
    CHECK_THAT(complaint(three_images.substr(0, 11), three_labels),
               EndsWith("is cut short in its IDX header"));
    CHECK_THAT(complaint(three_images.substr(0, 20), three_labels),
               Contains("expected 6 bytes after the header, as that says, found 4"));
    CHECK_THAT(complaint(three_images + "x", three_labels), Contains("expected 6 bytes"));
    CHECK_THAT(complaint(idx({0, 1, 2}, ""), three_labels), Contains("expected samples"));
    CHECK_THAT(complaint(idx({3, 0, 2}, ""), three_labels), Contains("expected samples"));
    CHECK_THAT(complaint(three_images, idx({2}, "ab")),
               Contains("labels: expected 3 labels, as many as there are images, found 2"));
    // Would be 2^96 bytes; and 2^32 samples of 2^31.
    CHECK_THAT(complaint(idx({1, ~0U, ~0U, ~0U}, ""), three_labels), Contains("values a sample"));
    CHECK_THAT(complaint(idx({~0U, 1U << 15, 1U << 15}, ""), three_labels),
               Contains("expected at most 1073741824 values, found 4294967295 samples"));
}

TEST_CASE("data set: the digits are read", "[data_set]") {
    const DataSet data =
        parse_digits(digits_line("16", "9") + "\r\n" + digits_line("0", "3"), "digits.csv", 0);
    CHECK(data.count == 2);
    CHECK(data.features == 64);
    CHECK(data.classes == 10);
    CHECK(data.sample(0)[0] == 1.0F);
    CHECK(data.sample(1)[0] == 0.0F);
    CHECK(data.sample(1)[63] == 0.5F);
    CHECK(data.labels == std::vector<std::uint8_t>{9, 3});
}

TEST_CASE("data set: lines that are no digits are refused by place", "[data_set]") {
    const std::string good = digits_line("1", "1") + "\n";
    CHECK(digits_complaint(good + good) == "accepted");
    CHECK(digits_complaint("") == "digits.csv: expected samples, found none");
    CHECK(digits_complaint(good + digits_line("17", "1")) ==
          "digits.csv:2:1: expected a whole number from 0 to 16, found \"17\"");
    CHECK_THAT(digits_complaint(good + digits_line("1", "10")),
               Contains("digits.csv:2:129: expected a whole number from 0 to 9, found \"10\""));
    CHECK_THAT(digits_complaint(digits_line("-1", "1")), Contains("found \"-1\""));
    CHECK_THAT(digits_complaint(digits_line("x", "1")), Contains("found another text"));
    CHECK_THAT(digits_complaint("1,2,3\n"), Contains(":1:6: expected 65 numbers, found 3"));
    CHECK_THAT(digits_complaint(digits_line("1", "1,1")), Contains("found another text"));
    CHECK_THAT(digits_complaint(good + "\n" + good), Contains("digits.csv:2:1"));
}

TEST_CASE("data set: specs that say nothing are refused", "[data_set]") {
    DataSpec spec = synthetic(10, 2, 2);
    CHECK(load_complaint(spec) == "accepted");
    spec.kind = "digit";
    CHECK(load_complaint(spec) ==
          "data: at /kind: expected synthetic, idx or digits, found "
          "\"digit\" (did you mean \"digits\"?)");
    CHECK_THAT(load_complaint({.kind = "digits"}), Contains("at /images: expected the file"));
    CHECK_THAT(load_complaint({.kind = "idx", .images = "x"}), Contains("at /labels"));
    CHECK_THAT(load_complaint({.kind = "idx", .images = "/nowhere/x", .labels = "/nowhere/y"}),
               Contains("/nowhere/x: cannot be opened"));
    CHECK_THAT(load_complaint(synthetic(0, 2, 2)), Contains("at /samples"));
    CHECK_THAT(load_complaint(synthetic(-5, 2, 2)), Contains("at /samples"));
    CHECK_THAT(load_complaint(synthetic(10, 0, 2)), Contains("at /features"));
    CHECK_THAT(load_complaint(synthetic(10, 2, 1)), Contains("at /classes"));
    CHECK_THAT(load_complaint(synthetic(10, 2, 257)), Contains("at /classes"));
    CHECK_THAT(load_complaint(synthetic(1 << 20, 1 << 20, 2)), Contains("values"));
}

TEST_CASE("data set: files are found by their names, packed or not", "[data_set]") {
    const ScratchFolder folder;
    const DataSet data = load_data({.kind = "idx",
                                    .images = folder.file("images", three_images),
                                    .labels = folder.file("labels", three_labels),
                                    .samples = 1});
    CHECK(data.count == 1);
    const DataSet digits = handwritten_digits();
    CHECK(digits.count == 1797);
    CHECK(digits.classes == 10);
    CHECK(*std::ranges::max_element(digits.values) == 1.0F);
    if (std::filesystem::exists("/usr/share/datasets/fashion-mnist")) {
        const DataSet fashion = load_data({.kind = "idx", .samples = 500});
        CHECK(fashion.count == 500);
        CHECK(fashion.features == 784);
        CHECK(fashion.classes == 10);
        CHECK(fashion.labels[0] == 9);  // the first image is an ankle boot
    } else {
        CHECK_THAT(load_complaint({.kind = "idx"}), Contains("dataset-fashion-mnist"));
    }
}

TEST_CASE("data set: the synthetic set stays what it was", "[data_set][golden]") {
    const DataSet data = load_data(synthetic(200, 10, 5));
    CHECK(data.count == 200);
    CHECK(data.values.size() == 2000);
    CHECK(hash_of(data) == 0x5bacc34468566347U);
    CHECK(std::ranges::all_of(data.values, [](float value) { return value >= 0 && value < 1; }));
    CHECK(std::set<int>(data.labels.begin(), data.labels.end()).size() == 5);
    DataSpec other = synthetic(200, 10, 5);
    other.seed = 2;
    CHECK(hash_of(load_data(other)) != hash_of(data));
    // The first samples do not depend on how many there are.
    const DataSet more = load_data(synthetic(300, 10, 5));
    CHECK(std::ranges::equal(std::span(more.labels).first(200), data.labels));
}
