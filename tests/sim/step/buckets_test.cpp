// buckets_test.cpp — bucket rules on real models.
#include "sim/step/buckets.hpp"

#include <catch2/catch.hpp>

#include "base/input_error.hpp"

namespace ukemi {

namespace {

std::vector<sim::GradientBucket> buckets_of(const char* model, sim::BucketKind kind) {
    sim::BucketRule rule;
    rule.kind = kind;
    if (kind == sim::BucketKind::chunks) rule.size = mebibytes(1);
    return sim::gradient_buckets(sim::model_named(model, "test"), rule, 4, "test");
}

Bytes sum(const std::vector<sim::GradientBucket>& buckets) {
    Bytes all;
    for (const sim::GradientBucket& bucket : buckets) all += bucket.bytes;
    return all;
}

}  // namespace

TEST_CASE("buckets: every rule sends every gradient once, the last after the whole pass",
          "[buckets]") {
    const auto kind = GENERATE(sim::BucketKind::one, sim::BucketKind::tensors,
                               sim::BucketKind::filled, sim::BucketKind::chunks);
    for (const sim::ModelEntry& model : sim::all_models()) {
        CAPTURE(model.name, sim::bucket_kind_names[static_cast<std::size_t>(kind)]);
        const auto buckets = buckets_of(std::string(model.name).c_str(), kind);
        CHECK(sum(buckets) == model.make().gradient_bytes());
        for (std::size_t i = 1; i < buckets.size(); ++i) {
            CHECK(buckets[i - 1].ready <= buckets[i].ready);
        }
        CHECK(buckets.front().ready >= 0);  // 0: a layer almost without arithmetic
        CHECK(buckets.back().ready == 1);
    }
}

TEST_CASE("buckets: one, each tensor, or pieces of a mebibyte", "[buckets]") {
    CHECK(buckets_of("resnet50", sim::BucketKind::one).size() == 1);
    CHECK(buckets_of("resnet50", sim::BucketKind::tensors).size() == 161);
    // VGG-16's fc6 has 25,088 x 4096 weights: 392 pieces of 2^20 bytes, no rest.
    const auto chunks = buckets_of("vgg16", sim::BucketKind::chunks);
    std::int64_t of_fc6 = 0;
    for (const sim::GradientBucket& chunk : chunks) {
        CHECK(chunk.bytes <= mebibytes(1));
        of_fc6 += chunk.name.starts_with("fc6.weight") ? 1 : 0;
    }
    CHECK(of_fc6 == 392);
}

TEST_CASE("buckets: PyTorch's are closed by the tensor that reaches 1 MiB, then 25 MiB",
          "[buckets]") {
    const auto buckets = buckets_of("resnet50", sim::BucketKind::filled);
    // The last bias (4000 bytes) and fc's weights (8,192,000) pass 1 MiB together.
    CHECK(buckets[0].bytes == bytes(8'196'000));
    for (std::size_t i = 1; i + 1 < buckets.size(); ++i) {
        CHECK(buckets[i].bytes >= mebibytes(25));
        CHECK(buckets[i].bytes < mebibytes(35));  // the largest tensor has 9 MiB
    }
    CHECK(buckets.size() == 5);
}

TEST_CASE("buckets: the variance of gradients sends as much again", "[buckets]") {
    const auto plain = buckets_of("resnet50", sim::BucketKind::filled);
    auto monitored = plain;
    sim::add_squares(monitored);
    REQUIRE(monitored.size() == 2 * plain.size());
    CHECK(sum(monitored) == 2 * sum(plain));
    for (std::size_t i = 0; i < plain.size(); ++i) {
        CHECK(monitored[2 * i].name == plain[i].name);
        CHECK(monitored[2 * i + 1].name == plain[i].name + "/squares");
        CHECK(monitored[2 * i + 1].ready == plain[i].ready);
    }
}

TEST_CASE("buckets: a model that falls into too many pieces is refused", "[buckets]") {
    sim::BucketRule rule;
    rule.kind = sim::BucketKind::chunks;
    rule.size = bytes(1024);
    CHECK_THROWS_WITH(sim::gradient_buckets(sim::model_named("vgg16", "test"), rule, 4, "here"),
                      "here: vgg16 falls into more than 100000 buckets");
}

}  // namespace ukemi
