// codec_step_test.cpp — training steps whose gradients are encoded: equal bits, exact bytes, and
// nothing lost of what error feedback keeps.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/codec.hpp"
#include "kernels/encoded_exchange.hpp"
#include "kernels/models/image_network.hpp"
#include "tests/kernels/forked_ranks.hpp"
#include "tests/kernels/training_ranks.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

const ModelSpec wide_mlp{.kind = "mlp", .hidden = {24, 16}};

Plan plan_with(Codec codec, double level = 0, std::int64_t batch = 24) {
    Plan plan = plan_of(batch, 0.05);
    plan.codec = codec;
    plan.codec_level = level;
    return plan;
}

std::vector<float> copy(std::span<const float> values) { return {values.begin(), values.end()}; }

}  // namespace

TEST_CASE("codec step: replicas stay equal to the bit, and bytes are those of the layouts",
          "[codec_step][property]") {
    const DataSet data = small_data();
    for (const CodecEntry& entry : all_codecs()) {
        for (const int size : {2, 3}) {
            CAPTURE(entry.name, size);
            TrainingRanks ranks(data, wide_mlp, {.momentum = 0.5}, size, {.bucket_bytes = 600});
            const auto results = ranks.train(plan_with(entry.kind), 6);
            REQUIRE(all_ok(ranks));
            REQUIRE(results.size() == 6);
            CHECK(all_equal(ranks.digests()));
            const std::int64_t bytes = encoded_bytes(entry.kind, 0, ranks.model().tensors(), size);
            for (const StepResult& result : results) {
                for (const StepWord& word : result.report.words) CHECK(word.sent_bytes == bytes);
                CHECK(std::isfinite(result.report.loss));
                CHECK(result.report.average_squared_norm > 0);
                const bool whole = entry.kind == Codec::none || entry.kind == Codec::fp16;
                CHECK(result.report.noise_measured == whole);
                CHECK((result.report.codec_error > 0) == (entry.kind != Codec::none));
                // Error feedback is kept: none of the gradients may be further off than nothing.
                if (entry.contracts) CHECK(result.report.codec_error <= 1);
            }
        }
    }
}

TEST_CASE("codec step: a codec that keeps everything is no codec, with uneven shares, too",
          "[codec_step]") {
    const DataSet data = small_data();
    const std::int64_t batch = GENERATE(24, 25, 2);  // of 3 ranks: equal, unequal, one without
    const Codec codec = GENERATE(Codec::top_k, Codec::random_k, Codec::top_k_agreed);
    CAPTURE(batch, codec_names()[static_cast<std::size_t>(codec)]);
    TrainingRanks plain(data, wide_mlp, {}, 3);
    TrainingRanks encoded(data, wide_mlp, {}, 3);
    const auto exact = plain.train(plan_with(Codec::none, 0, batch), 6);
    const auto whole = encoded.train(plan_with(codec, 1, batch), 6);
    REQUIRE(all_ok(encoded));
    CHECK(all_equal(encoded.digests()));
    CHECK(distance(plain.replica(0).weights(), encoded.replica(0).weights()) < 1e-5);
    CHECK(whole.back().report.codec_error < 1e-6);
    CHECK(whole.back().report.average_squared_norm ==
          Approx(exact.back().report.average_squared_norm).epsilon(1e-3));
}

TEST_CASE("codec step: random-k with error feedback learns as the whole gradient does",
          "[codec_step]") {
    const DataSet data = small_data();
    const auto loss = [&](Codec codec) {
        TrainingRanks ranks(data, {}, {}, 3);
        const auto results = ranks.train(plan_with(codec, codec == Codec::none ? 0 : 0.1), 300);
        REQUIRE(all_ok(ranks));
        return results.back().report.loss;
    };
    CHECK(loss(Codec::random_k) == Approx(loss(Codec::none)).epsilon(0.1));
}

TEST_CASE("codec step: a torn step that is undone restores what was kept", "[codec_step]") {
    const DataSet data = small_data();
    const Codec codec = GENERATE(Codec::top_k, Codec::power_sgd, Codec::scaled_sign);
    CAPTURE(codec_names()[static_cast<std::size_t>(codec)]);
    TrainingRanks ranks(data, wide_mlp, {.momentum = 0.5}, 2);
    ranks.train(plan_with(codec), 4);
    std::vector<std::vector<float>> kept;
    std::vector<std::vector<float>> shared;
    for (const Replica& replica : ranks.replicas) {
        kept.push_back(replica.codec_memory().kept);
        shared.push_back(replica.codec_memory().shared);
    }
    CHECK(kept[0] != kept[1]);
    CHECK(shared[0] == shared[1]);
    CHECK((codec == Codec::power_sgd) == !shared[0].empty());
    const auto before = ranks.digests();
    CHECK(all_equal(before));  // though each keeps its own
    ranks.train(plan_with(codec), 1);
    CHECK(ranks.replicas[0].codec_memory().kept != kept[0]);
    for (std::size_t rank = 0; rank < 2; ++rank) {
        ranks.replicas[rank].undo();
        CHECK(ranks.replicas[rank].codec_memory().kept == kept[rank]);
        CHECK(ranks.replicas[rank].codec_memory().shared == shared[rank]);
    }
    CHECK(ranks.digests() == before);
}

TEST_CASE("codec step: a step that fails leaves what was kept as it was", "[codec_step]") {
    const DataSet data = small_data();
    TrainingRanks ranks(data, wide_mlp, {}, 2);
    const Plan plan = plan_with(Codec::top_k);
    ranks.train(plan, 3);
    const std::vector<float> kept = ranks.replicas[0].codec_memory().kept;
    const auto before = ranks.digests();
    Outcome outcome = Outcome::ok;
    ranks.together(
        [&](int rank, InProcessCommunicator& peers, TrainingStep& step) {
            if (rank == 1) return peers.die();
            outcome = step.run(ranks.replica(0), plan, 77, 3, 72, 0).outcome;
        },
        2s);
    CHECK(outcome != Outcome::ok);
    CHECK(ranks.digests() == before);
    CHECK(ranks.replicas[0].codec_memory().kept == kept);
}

TEST_CASE("codec step: what was kept joins the next gradient, whatever codec comes next",
          "[codec_step]") {
    const DataSet data = small_data();
    const Codec next = GENERATE(Codec::none, Codec::fp16);
    TrainingRanks kept(data, wide_mlp, {}, 2);
    kept.train(plan_with(Codec::top_k), 3);
    TrainingRanks dropped(data, wide_mlp, {}, 2);
    std::vector<double> mean(kept.replica(0).size());
    for (int rank = 0; rank < 2; ++rank) {
        const Replica& from = kept.replica(rank);
        for (std::size_t i = 0; i < mean.size(); ++i) {
            mean[i] += static_cast<double>(from.codec_memory().kept[i]) / 2;
        }
        dropped.replica(rank).restore(from.state());  // which leaves out what is its own
        CHECK(dropped.replica(rank).codec_memory().kept.empty());
        CHECK(dropped.replica(rank).digest() == from.digest());
    }
    dropped.train(plan_with(Codec::none), 0);
    const Plan plan = plan_with(next);
    const auto step = [&](TrainingRanks& ranks) {
        ranks.together([&](int rank, InProcessCommunicator&, TrainingStep& training) {
            CHECK(training.run(ranks.replica(rank), plan, 77, 3, 72, 0).outcome == Outcome::ok);
        });
    };
    step(kept);
    step(dropped);
    double off = 0;
    double whole = 0;
    for (std::size_t i = 0; i < mean.size(); ++i) {
        const double moved = static_cast<double>(kept.replica(0).weights()[i]) -
                             static_cast<double>(dropped.replica(0).weights()[i]);
        off += std::abs(moved + 0.05 * mean[i]);
        whole += std::abs(0.05 * mean[i]);
    }
    CHECK(whole > 0);
    CHECK(off < (next == Codec::none ? 1e-3 : 1e-2) * whole);
    CHECK(kept.replica(0).codec_memory().kept.empty() == (next == Codec::none));
}

TEST_CASE("codec step: warm starts travel with the state, and codecs may change between steps",
          "[codec_step]") {
    const DataSet data = small_data();
    TrainingRanks ranks(data, wide_mlp, {.momentum = 0.5}, 2);
    for (const Codec codec : {Codec::power_sgd, Codec::none, Codec::qsgd, Codec::power_sgd}) {
        ranks.train(plan_with(codec), 3);
        REQUIRE(all_ok(ranks));
        CHECK(all_equal(ranks.digests()));
    }
    const std::vector<float> shared = ranks.replica(0).codec_memory().shared;
    CHECK_FALSE(shared.empty());
    Replica newcomer(copy(ranks.replica(0).weights()), {.momentum = 0.5});
    newcomer.restore(ranks.replica(0).state());
    CHECK(newcomer.codec_memory().shared == shared);
    CHECK(newcomer.digest() == ranks.replica(0).digest());
    ranks.replicas.push_back(newcomer);  // keeps nothing, and trains on with the others
    ranks.train(plan_with(Codec::power_sgd), 3);
    REQUIRE(all_ok(ranks));
    CHECK(all_equal(ranks.digests()));
}

TEST_CASE("codec step: launches and their order change no bit", "[codec_step]") {
    const DataSet data = small_data();
    const Codec codec = GENERATE(Codec::power_sgd, Codec::top_k, Codec::qsgd_shared);
    TrainingRanks by_name(data, wide_mlp, {}, 2, {.bucket_bytes = 400});
    TrainingRanks coordinated(data, wide_mlp, {}, 2,
                              {.bucket_bytes = 400, .launch = LaunchMode::coordinated});
    TrainingRanks one_bucket(data, wide_mlp, {}, 2);
    for (TrainingRanks* ranks : {&by_name, &coordinated, &one_bucket}) {
        ranks->train(plan_with(codec), 4);
        REQUIRE(all_ok(*ranks));
        CHECK(ranks->digests()[0] == by_name.digests()[0]);
    }
}

TEST_CASE("codec step: one rank alone sends nothing", "[codec_step]") {
    const DataSet data = small_data();
    TrainingRanks encoded(data, wide_mlp, {}, 1);
    TrainingRanks plain(data, wide_mlp, {}, 1);
    const auto results = encoded.train(plan_with(Codec::top_k), 3);
    plain.train(plan_with(Codec::none), 3);
    CHECK(results.back().report.words[0].codec_ns == 0);
    CHECK(encoded.digests() == plain.digests());
}

TEST_CASE("codec step: processes over sockets get the bits of threads", "[codec_step][sockets]") {
    const DataSet data = small_data();
    for (const Codec codec : {Codec::fp16, Codec::power_sgd, Codec::top_k, Codec::top_k_agreed,
                              Codec::qsgd, Codec::terngrad_shared, Codec::sign_reduced}) {
        CAPTURE(codec_names()[static_cast<std::size_t>(codec)]);
        TrainingRanks threads(data, wide_mlp, {.momentum = 0.5}, 2);
        threads.train(plan_with(codec), 5);
        const std::uint64_t expected = threads.digests()[0];
        ForkedRanks ranks(2, [&](ForkedRank& own) {
            const auto peers = own.connect(20s);
            own.timed(*peers, [&] {
                const auto model = make_model(wide_mlp, data);
                Replica replica(model->initial_weights(11), {.momentum = 0.5});
                TrainingStep step(*model, data, *peers, {});
                for (std::int64_t i = 0; i < 5; ++i) {
                    const auto result = step.run(replica, plan_with(codec), 77, i, i * 24, 0);
                    if (result.outcome != Outcome::ok) return result.outcome;
                }
                own.report().right = replica.digest() == expected;
                return Outcome::ok;
            });
        });
        CHECK(ranks.all_ended_well());
        for (int rank = 0; rank < 2; ++rank) {
            CHECK(ranks.report(rank).outcome == Outcome::ok);
            CHECK(ranks.report(rank).right);
        }
    }
}

TEST_CASE("codec step: tensors are matrices as their layers have them", "[codec_step][golden]") {
    // LeNet-5: 20 × 25, 50 × 500, 500 × 800 and 10 × 500, each with its biases.
    const ImageNetwork lenet = image_network("lenet5", 28 * 28, 10);
    CHECK(encoded_bytes(Codec::power_sgd, 1, lenet.tensors, 2) ==
          4 * (45 + 20 + 550 + 50 + 1300 + 500 + 510 + 10));
    CHECK(encoded_bytes(Codec::none, 0, lenet.tensors, 2) == 4 * 431'080);
    const DataSet data = small_data();
    const auto model = make_model(wide_mlp, data);
    const auto tensors = model->tensors();
    CHECK(tensors[0].columns == 24);  // column after column of 24 × 12
    CHECK(tensors[1].columns == 1);
    CHECK(encoded_bytes(Codec::power_sgd, 2, tensors, 2) ==
          4 * (2 * (12 + 24) + 24 + 2 * (24 + 16) + 16 + 2 * (16 + 4) + 4));
}

TEST_CASE("codec step: what cannot be encoded is said", "[codec_step]") {
    CHECK(training_refusal(plan_with(Codec::power_sgd, 4), 2).empty());
    CHECK_THAT(training_refusal(plan_with(Codec::power_sgd, 1.5), 2),
               Contains("codec power_sgd: expected a whole number (rank)"));
    CHECK_THAT(training_refusal(plan_with(Codec::fp16, 1), 2), Contains("fp16 has no level"));
    Plan plan = plan_with(Codec::top_k);
    plan.synchronisation = Synchronisation::synchronous_averaging;
    CHECK(training_refusal(plan, 2) ==
          "synchronous_averaging exchanges models and no gradients: no codec top_k");
}
