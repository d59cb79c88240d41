// codec_plan_test.cpp — exact bytes of encoded buckets, and their way in a step.
#include "sim/step/codec_plan.hpp"

#include <catch2/catch.hpp>

#include "base/input_error.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/layer_stack.hpp"
#include "sim/cluster/models/architectures.hpp"
#include "sim/step/perfetto_trace.hpp"
#include "sim/step/step_run.hpp"

namespace ukemi {

namespace {

struct Coded {
    std::vector<sim::GradientBucket> buckets;
    sim::CodedBytes bytes;
};

Coded coded(const char* model_name, const sim::StepCodec& choice, sim::BucketKind kind,
            int ranks = 4) {
    const sim::ModelProfile model = sim::model_named(model_name, "test");
    sim::BucketRule rule;
    rule.kind = kind;
    if (kind == sim::BucketKind::chunks) rule.size = mebibytes(1);
    Coded result{sim::gradient_buckets(model, rule, 4, "test"), {}};
    result.bytes = sim::encode_buckets(result.buckets, model, rule, 4, choice, ranks, "test");
    return result;
}

Bytes on_lane(const Coded& result, std::uint32_t lane) {
    Bytes sum;
    for (const sim::GradientBucket& bucket : result.buckets) {
        for (const sim::BucketLeg& leg : bucket.legs) sum += leg.lane == lane ? leg.bytes : Bytes{};
    }
    return sum;
}

}  // namespace

TEST_CASE("codec plan: weights are matrices of as many rows as outputs", "[codec_plan]") {
    const sim::ModelProfile vgg = sim::model_named("vgg16", "test");
    const std::vector<kernels::TensorShape> shapes = sim::tensor_shapes(vgg);
    REQUIRE(shapes.size() == 32);
    CHECK(shapes[0] == kernels::TensorShape{64, 27});         // 3 x 3 x 3 to 64
    CHECK(shapes[1] == kernels::TensorShape{64, 1});          // its bias
    CHECK(shapes[26] == kernels::TensorShape{4096, 25'088});  // fc6
    const sim::ModelProfile bert = sim::model_named("bert_base", "test");
    CHECK(sim::tensor_shapes(bert)[0] == kernels::TensorShape{30'522, 768});
}

TEST_CASE("codec plan: weights without a bias are the same matrices", "[codec_plan]") {
    const auto bytes_of = [](bool bias, const char* codec) {
        sim::LayerStack net("mine", "sample", {3, 32, 32});
        net.convolution("conv", 64, sim::LayerStack::square(3, 2, 1), bias);
        net.dense("inner", 512, bias);
        net.dense("outer", 10, bias);
        const sim::ModelProfile model = net.finished();
        const sim::BucketRule rule;
        std::vector<sim::GradientBucket> buckets = sim::gradient_buckets(model, rule, 4, "test");
        return sim::encode_buckets(buckets, model, rule, 4, {codec, 2, 1e11, 1e11}, 4, "test")
            .message.raw();
    };
    // 4 r (rows + columns) each; biases whole.
    constexpr std::int64_t matrices = 64 + 27 + 512 + 64 * 16 * 16 + 10 + 512;
    CHECK(bytes_of(false, "power_sgd") == 4 * 2 * matrices);
    constexpr std::int64_t biases = 4 * (64 + 512 + 10);
    CHECK(bytes_of(true, "power_sgd") == 4 * 2 * matrices + biases);
    CHECK(bytes_of(true, "atomo") == bytes_of(false, "atomo") + biases);
}

TEST_CASE("codec plan: a router's scores are a matrix of as many rows as experts", "[codec_plan]") {
    sim::TransformerShape shape{2, 64, 4, 1000, 32, 32};
    shape.experts = 4;
    const sim::ModelProfile model = sim::gpt2("experts", shape);
    const std::vector<kernels::TensorShape> shapes = sim::tensor_shapes(model);
    std::size_t routers = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        if (!model.tensors[i].name.ends_with("router.weight")) continue;
        ++routers;
        CHECK(shapes[i] == kernels::TensorShape{4, 64});
    }
    CHECK(routers == 2);
}

TEST_CASE("codec plan: bytes are those of every tensor by itself, whatever the buckets",
          "[codec_plan]") {
    const std::int64_t n = sim::model_named("resnet50", "test").parameters();
    const auto kind =
        GENERATE(sim::BucketKind::one, sim::BucketKind::tensors, sim::BucketKind::filled);
    const Coded half = coded("resnet50", {"fp16", 0, 1e11, 1e11}, kind);
    CHECK(half.bytes.message == bytes(2 * n));
    CHECK(half.bytes.gradient == bytes(4 * n));
    CHECK(on_lane(half, sim::all_reduce_lane) == bytes(2 * n));
    CHECK(half.bytes.reduces);
    // A byte a level and a scale of four bytes a tensor.
    const Coded qsgd = coded("resnet50", {"qsgd", 0, 1e11, 1e11}, kind);
    CHECK(qsgd.bytes.message == bytes(n + 4 * 161));
    CHECK(on_lane(qsgd, sim::gather_lane) == bytes(n + 4 * 161));
    CHECK_FALSE(qsgd.bytes.reduces);
    // 4 r (rows + columns) a matrix, vectors whole.
    const Coded power = coded("resnet50", {"power_sgd", 2, 1e11, 1e11}, kind);
    std::int64_t expected = 0;
    for (const kernels::TensorShape& shape :
         sim::tensor_shapes(sim::model_named("resnet50", "test"))) {
        const bool shrinks =
            shape.is_matrix() && 4 * 2 * (shape.rows + shape.columns) < 4 * shape.elements();
        expected += shrinks ? 4 * 2 * (shape.rows + shape.columns) : 4 * shape.elements();
    }
    CHECK(power.bytes.message == bytes(expected));
    CHECK(power.bytes.reduces);
    for (const sim::GradientBucket& bucket : power.buckets) CHECK(bucket.legs.size() <= 2);
}

TEST_CASE("codec plan: pieces of tensors are vectors, and matrices are not cut", "[codec_plan]") {
    const std::int64_t n = sim::model_named("resnet50", "test").parameters();
    CHECK(coded("resnet50", {"fp16", 0, 1e11, 1e11}, sim::BucketKind::chunks).bytes.message ==
          bytes(2 * n));
    CHECK_THROWS_WITH(coded("resnet50", {"power_sgd", 2, 1e11, 1e11}, sim::BucketKind::chunks),
                      "test: power_sgd takes whole tensors, and \"chunks\" cuts them");
}

TEST_CASE("codec plan: a step encodes, sends what is left, and decodes", "[codec_plan]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 4);
    sim::StepJob job;
    job.name = "job";
    job.workers = topology.workers();
    job.per_host = 1;
    job.compute.assign(4, milliseconds(90));
    job.launch.overhead = {};
    const Coded plain = coded("resnet50", {"none", 0, 1e11, 1e11}, sim::BucketKind::one);
    job.buckets = plain.buckets;
    for (sim::GradientBucket& bucket : job.buckets) bucket.encode = bucket.decode = {};
    const auto parts = [&] {
        const auto steps = sim::run_steps(topology, std::span(&job, 1), {}, {}).front().steps;
        CHECK(steps[0].parts.total() == steps[0].end - steps[0].begin);
        return steps[0].parts;
    };
    const sim::StepParts whole = parts();
    const Coded half = coded("resnet50", {"fp16", 0, 1e11, 1e11}, sim::BucketKind::one);
    job.buckets = half.buckets;
    const sim::StepParts halved = parts();
    CHECK(halved.sending.raw() == Approx(whole.sending.raw() / 2).epsilon(0.01));
    CHECK(halved.coding == half.bytes.encode + half.bytes.decode);
    // What every rank brings crosses every link of the ring: (n - 1) messages, not 2 (n - 1)/n.
    const Coded qsgd = coded("resnet50", {"qsgd", 0, 1e11, 1e11}, sim::BucketKind::one);
    job.buckets = qsgd.buckets;
    CHECK(to_seconds(parts().sending) ==
          Approx(to_seconds(whole.sending) / 1.5 * 3 / 4).epsilon(0.01));
}

TEST_CASE("codec plan: encoding holds up the backward pass, and decoding waits for its end",
          "[codec_plan]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 4);
    sim::StepJob job;
    job.name = "job";
    job.workers = topology.workers();
    job.compute.assign(4, milliseconds(90));
    job.launch = {sim::LaunchKind::in_order, {}};
    // Sent and there long before the pass of 60 ms ends.
    job.buckets = {{"early", bytes(4), 0.1}, {"late", bytes(4), 1.0}};
    const auto step = [&] {
        return sim::run_steps(topology, std::span(&job, 1), {}, {}).front().steps[0];
    };
    const sim::StepRecord plain = step();
    for (sim::GradientBucket& bucket : job.buckets) {
        bucket.encode = milliseconds(5);
        bucket.decode = milliseconds(3);
    }
    const sim::StepRecord coded = step();
    // Twice 5 ms in the pass; the first message is decoded while the second one is on its way.
    CHECK((coded.end - coded.begin).raw() == milliseconds(90 + 10 + 6).raw());
    CHECK(coded.parts.compute == plain.parts.compute);
    CHECK((coded.parts.coding + coded.parts.sending).raw() == milliseconds(16).raw());
    CHECK(coded.parts.sending == plain.parts.sending);
    CHECK(coded.parts.total() == coded.end - coded.begin);
}

TEST_CASE("codec plan: those who are left decode as many parts as they are", "[codec_plan]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 4);
    const bool by_rates = GENERATE(true, false);
    const char* const codec = GENERATE("sign", "top_k", "power_sgd", "fp16");
    sim::StepCodec choice{codec, 0, by_rates ? 1e9 : 0, by_rates ? 1e9 : 0};
    choice.gpu = &sim::gpu_named("v100_sxm2_16gb", "test");
    sim::StepJob job;
    job.name = "job";
    job.workers = topology.workers();
    job.compute.assign(4, milliseconds(90));
    job.buckets = coded("resnet50", choice, sim::BucketKind::one).buckets;
    const std::vector<std::int32_t> gone = {1};
    const sim::StepJob left = sim::without(job, topology, gone, 0);
    const Coded three = coded("resnet50", choice, sim::BucketKind::one, 3);
    CAPTURE(by_rates, codec);
    CHECK(left.buckets.front().decode == three.buckets.front().decode);
}

TEST_CASE("codec plan: a trace shows that encoding holds up the backward pass", "[codec_plan]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 2);
    sim::StepJob job;
    job.name = "job";
    job.workers = topology.workers();
    job.compute.assign(2, milliseconds(90));
    job.buckets = {{"all", bytes(4'000'000), 1.0}};
    job.buckets.front().encode = milliseconds(5);
    job.buckets.front().decode = milliseconds(3);
    const auto result = sim::run_steps(topology, std::span(&job, 1), {}, {1, 1});
    const std::string trace = sim::perfetto_trace(topology, std::span(&job, 1), result, {});
    CHECK_THAT(trace, Catch::Contains(R"("dur":65000.0,"name":"backward, encoding")") &&
                          Catch::Contains("wait for all gradients, decoding"));
}

TEST_CASE("codec plan: without rates, kernels of a GPU are what coding takes", "[codec_plan]") {
    sim::StepCodec choice{"power_sgd", 4};
    choice.gpu = &sim::gpu_named("v100_sxm2_16gb", "test");
    const Coded one = coded("resnet50", choice, sim::BucketKind::one, 16);
    const Coded by_tensor = coded("resnet50", choice, sim::BucketKind::tensors, 16);
    // 54 matrices (the last keeps its bias), 107 vectors, and what a message needs once.
    CHECK(one.bytes.kernels.encode.launches == 54 * (2 + 2 + 9 * 4 - 4) + 107 * 2 + 1);
    CHECK(one.bytes.kernels.decode.launches == 54 * 3 + 107 + 2);
    CHECK(by_tensor.bytes.kernels.encode.launches == one.bytes.kernels.encode.launches + 160);
    CHECK(to_seconds(one.bytes.encode + one.bytes.decode) == Approx(0.0272).epsilon(0.02));
    // A GPU of today launches no faster, and its library decomposes in ten operations.
    choice.gpu = &sim::gpu_named("h100_sxm5_80gb", "test");
    const Coded later = coded("resnet50", choice, sim::BucketKind::one, 16);
    CHECK(later.bytes.kernels.encode.launches ==
          one.bytes.kernels.encode.launches - 54 * (9 * 4 - 4 - 10));
    CHECK(later.bytes.decode == one.bytes.decode);
}

TEST_CASE("codec plan: workers code one message after the other", "[codec_plan]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 4);
    sim::StepJob job;
    job.name = "job";
    job.workers = topology.workers();
    job.compute.assign(4, milliseconds(90));
    job.launch = {sim::LaunchKind::by_name, {}};
    sim::GradientBucket bucket{"b", bytes(4), 1.0};
    bucket.legs = {{sim::all_reduce_lane, bytes(4)}};
    bucket.encode = milliseconds(5);
    job.buckets.assign(6, bucket);
    const auto steps = sim::run_steps(topology, std::span(&job, 1), {}, {}).front().steps;
    const Duration after = steps[0].end - steps[0].begin - milliseconds(90);
    CHECK(after >= milliseconds(30));
    CHECK(after < milliseconds(32));
    CHECK(steps[0].parts.coding + steps[0].parts.sending == after);
}

}  // namespace ukemi
