// capped_batch_test.cpp — the batch grows with the workers up to its limit, and is shared evenly.
#include "policies/batch_split.hpp"
#include "tests/policies/batch_situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

// What the authors' engine gives the worker of this rank (from 0): the first ones have one more.
std::int64_t local_batch(std::int64_t global_batch, std::int64_t workers, std::int64_t rank) {
    return global_batch / workers + (global_batch % workers > rank ? 1 : 0);
}

}  // namespace

TEST_CASE("batch split: 32 a device at 4 and 8 workers, 22 at 12 under a limit of 256",
          "[capped_batch][golden]") {
    CHECK(local_batch(capped_batch(32, 256, 4), 4, 0) == 32);
    CHECK(local_batch(capped_batch(32, 256, 8), 8, 7) == 32);
    CHECK(capped_batch(32, 256, 12) == 256);
    CHECK(local_batch(256, 12, 0) == 22);
    CHECK(local_batch(256, 12, 3) == 22);
    CHECK(local_batch(256, 12, 4) == 21);
}

TEST_CASE("batch split: the engine's own limits, and every sample is somebody's",
          "[capped_batch][golden]") {
    CHECK(capped_batch(256, 1024, 3) == 768);  // CIFAR-10
    const std::int64_t shares[] = {205, 205, 205, 205, 204};
    for (std::int64_t rank = 0; rank < 5; ++rank) {
        CHECK(local_batch(capped_batch(256, 1024, 5), 5, rank) == shares[rank]);
    }
    CHECK(capped_batch(128, 8192, 64) == 8192);  // ImageNet
    for (std::int64_t workers = 1; workers <= 70; ++workers) {
        const std::int64_t batch = capped_batch(7, 100, workers);
        CHECK(batch <= std::max<std::int64_t>(100, workers));
        std::int64_t sum = 0;
        for (std::int64_t rank = 0; rank < workers; ++rank)
            sum += local_batch(batch, workers, rank);
        CHECK(sum == batch);
    }
}

TEST_CASE("capped_batch: follows the workers that are there, and says nothing twice",
          "[capped_batch]") {
    const auto policy = policy_named("capped_batch", R"({"worker_batch": 32, "batch_max": 256})");
    BatchSituation job;
    job.plan.global_batch = 64;
    CHECK(job.carry_out(*policy, Hook::before_train).global_batch == 128);
    CHECK(job.carry_out(*policy, Hook::on_event) == Decision{});
    for (const auto& [workers, batch] :
         {std::pair{8, 256}, std::pair{2, 64}, std::pair{6, 192}, std::pair{12, 256}}) {
        job.seen.workers = workers;
        CHECK(job.carry_out(*policy, Hook::on_event).global_batch == batch);
    }
    job.seen.workers = 0;  // while a group forms nobody trains
    CHECK(job.carry_out(*policy, Hook::on_event) == Decision{});
}
