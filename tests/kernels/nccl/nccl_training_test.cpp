// nccl_training_test.cpp — training steps over an NcclCommunicator, with the double in NCCL's
// place: buckets launched by threads in any order, exchanged in one.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "kernels/nccl/nccl_communicator.hpp"
#include "tests/kernels/nccl/fake_nccl.hpp"
#include "tests/kernels/training_ranks.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using namespace std::chrono_literals;

TEST_CASE("nccl: a training step over it is the one over threads, bit for bit by two", "[nccl]") {
    const DataSet data = small_data();
    const ModelSpec model{.kind = "mlp", .hidden = {9, 7}};
    const OptimiserSettings optimiser{.momentum = 0.9};
    StepSettings settings;
    settings.bucket_bytes = 64;  // several buckets
    constexpr int ranks = 2;
    constexpr std::int64_t steps = 6;
    const Plan plan = plan_of(40);

    TrainingRanks expected(data, model, optimiser, ranks, settings);
    expected.train(plan, steps);

    TrainingRanks found(data, model, optimiser, ranks, settings);
    FakeBoard board;
    const NcclId id = FakeNccl(board).new_id();
    // The backward pass ends tensors from the last to the first, so this is how buckets come.
    std::vector<std::string> round;
    std::size_t bytes = settings.bucket_bytes;
    for (std::size_t tensor = found.model().tensors().size(); tensor-- > 0;) {
        if (bytes >= settings.bucket_bytes) {
            round.push_back(fmt::format("bucket/{}", round.size()));
            bytes = 0;
        }
        bytes += found.model().tensors()[tensor].count * sizeof(float);
    }
    REQUIRE(round.size() >= 3);
    std::vector<Outcome> outcomes(ranks, Outcome::aborted);
    {
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < ranks; ++rank) {
            threads.emplace_back([&, rank] {
                FakeNccl calls(board);
                NcclCommunicator peers(calls, {{0, rank, ranks}, 10h, 10h, round});
                Outcome outcome = peers.connect(id);
                TrainingStep step(found.model(), data, peers, settings);
                for (std::int64_t i = 0; i < steps && outcome == Outcome::ok; ++i) {
                    outcome = step.run(found.replicas[static_cast<std::size_t>(rank)], plan, 77, i,
                                       i * 40, 0)
                                  .outcome;
                }
                outcomes[static_cast<std::size_t>(rank)] = outcome;
            });
        }
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        CHECK(outcomes[rank] == Outcome::ok);
        CHECK(found.replicas[rank].steps() == steps);
        CHECK(found.replicas[rank].digest() == expected.replicas[rank].digest());
    }
}
