// corpus_test.cpp — what the fuzzer of restored replicas begins with is restored.
#include <catch2/catch.hpp>

#include "base/read_file.hpp"
#include "tests/kernels/replica/use_replica_bytes.hpp"

namespace ukemi {

TEST_CASE("replica: each file of the fuzzer's corpus is restored and trained on", "[replica]") {
    const auto folder = std::filesystem::path(UKEMI_SOURCE_DIR) / "tests/kernels/replica/corpus";
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        CAPTURE(entry.path().string());
        const std::string bytes = read_file(entry.path());
        CHECK(use_replica_bytes(std::as_bytes(std::span(bytes.data(), bytes.size()))));
        // Not with a byte less, and not for a model with a parameter more.
        CHECK_FALSE(use_replica_bytes(std::as_bytes(std::span(bytes.data(), bytes.size() - 1))));
        std::string larger = bytes;
        ++larger[1];
        CHECK_FALSE(use_replica_bytes(std::as_bytes(std::span(larger.data(), larger.size()))));
        ++count;
    }
    CHECK(count >= 5);
}

}  // namespace ukemi
