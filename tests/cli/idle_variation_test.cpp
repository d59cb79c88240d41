// idle_variation_test.cpp — which varied keys changed nothing.
#include "analysis/idle_variation.hpp"

#include <catch2/catch.hpp>

using namespace ukemi;
using namespace ukemi::analysis;
using namespace ukemi::records;

namespace {

RunResult run(const std::string& policy, const std::string& batch, const std::string& deadline,
              std::int64_t hours) {
    RunResult result;
    result.scenario = policy;
    result.policy = policy;
    result.varied = {{"/job/batch", batch}, {"/job/deadline", deadline}};
    result.duration = seconds(static_cast<double>(hours) * 3600);
    return result;
}

}  // namespace

TEST_CASE("idle variation: a key is named where no result depends on it", "[vary]") {
    std::vector<RunResult> runs{run("fixed", "64", "1h", 3), run("fixed", "128", "1h", 3),
                                run("fixed", "64", "2h", 4), run("fixed", "128", "2h", 4)};
    CHECK(keys_without_effect(runs) == std::vector<std::string>{"/job/batch"});
    runs.push_back(run("follows", "64", "1h", 5));
    runs.push_back(run("follows", "128", "1h", 6));
    CHECK(keys_without_effect(runs).empty());
}

TEST_CASE("idle variation: what has nothing to be compared with is not named", "[vary]") {
    const std::vector<RunResult> alone{run("fixed", "64", "1h", 3)};
    CHECK(keys_without_effect(alone).empty());
    CHECK(keys_without_effect({}).empty());
    const std::vector<RunResult> both_differ{run("fixed", "64", "1h", 3),
                                             run("fixed", "128", "2h", 3)};
    CHECK(keys_without_effect(both_differ).empty());
}
