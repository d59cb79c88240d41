// learner_tuning_test.cpp — learners are added up to the knee, and one step back from it.
#include "policies/size/learner_tuning.hpp"

#include <catch2/catch.hpp>
#include <vector>

using namespace ukemi;
using namespace ukemi::policies;

namespace {

// The numbers of learners that follow from these throughputs, of 1, 2, 3 … learners.
std::vector<std::int32_t> search(const std::vector<double>& throughput, std::int32_t most) {
    LearnerTuning tuning(most);
    std::vector<std::int32_t> learners{1};
    while (!tuning.done()) {
        const auto now = static_cast<std::size_t>(learners.back());
        learners.push_back(tuning.after_window(learners.back(), throughput.at(now - 1)));
    }
    CHECK(tuning.after_window(learners.back(), 1e9) == learners.back());  // it stays there
    return learners;
}

using Numbers = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("learner tuning: up, up, down and stop", "[learner_tuning][golden]") {
    // Crossbow's rule with its threshold of 0.1: the first window counts as a rise, then +60 %,
    // then +5 %.
    CHECK(search({1000, 1600, 1680}, 16) == Numbers{1, 2, 3, 2});
    CHECK(search({1000, 1100}, 16) == Numbers{1, 2, 1});  // exactly the threshold is not above it
    CHECK(search({1000, 1200, 1500, 1400}, 16) == Numbers{1, 2, 3, 4, 3});
}

TEST_CASE("learner tuning: stays within its limits", "[learner_tuning]") {
    CHECK(search({1000, 2000, 4000}, 2) == Numbers{1, 2, 2});
    CHECK(search({1000}, 1) == Numbers{1, 1});
}
