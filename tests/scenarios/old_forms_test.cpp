// old_forms_test.cpp — what scenarios said once is refused, and the message names what says it now.
#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/config_reader.hpp"
#include "scenarios/reader/scenario.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "tests/scenarios/scenario_text.hpp"

using namespace ukemi;
using namespace ukemi::scenarios;

namespace {

constexpr std::string_view job_text = R"({"name": "old", "seed": 1,
    "job": {"samples": 4096, "batch": 32, "model_size": "1 GB",
            "step_time": {"fixed": "1 s", "per_sample": "10 ms"}},
    "training": {"data": {"kind": "synthetic", "samples": 1280, "features": 16, "classes": 5},
                 "model": {"kind": "mlp"}},
    "cluster": {"count": 4}, "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
    "replay": ["constant_batch:32"]})";
constexpr std::string_view steps_text = R"({"name": "old", "seed": 1,
    "cluster": {"machine": "p3.2xlarge", "count": 2},
    "job": {"model": "resnet32", "batch": 16, "steps": 1}})";
const std::string real = R"({"model": "real_gradients", )";

struct OldForm {
    bool of_steps = false;
    std::string pointer;
    std::string value;
    std::string complaint;  // after the file
};

const std::vector<OldForm>& old_forms() {
    static const std::string codec =
        ": is no longer read as an object: write \"codec\": \"top_k:0.01\" (the level after a "
        "colon), and \"error_feedback\" beside it";
    static const std::string level =
        ": is no longer read: write it behind the codec's name, as in \"codec\": \"top_k:0.01\"";
    static const std::string exchange =
        ": is no longer read: write \"exchange\": {\"2\": \"20 ms\"}";
    static const std::vector<OldForm> all{
        {false, "/training/codec", R"({"kind": "power_sgd", "level": 4})",
         "/training/codec" + codec},
        {false, "/learning", real + R"("codec": {"name": "top_k", "level": 0.1}})",
         "/learning/codec" + codec},
        {false, "/job/step_time/codecs",
         R"([{"codec": "top_k", "level": 0.1, "exchange": {"1": "1 s"}}])",
         "/job/step_time/codecs/0/level" + level},
        {true, "/job/codec_level", "0.1", "/job/codec_level" + level},
        {false, "/training/momentum", "0.9",
         "/training/momentum: is no longer read: write \"optimiser\": {\"momentum\": …} with what "
         "else it has"},
        {false, "/training/averaging_rate", "0.1",
         "/training/averaging_rate: is no longer read: write \"optimiser\": {\"averaging_rate\": "
         "…} "
         "with what else it has"},
        {true, "/job/collective", "automatic",
         "/job/collective: expected one of cheapest, ring, binary_tree, double_binary_tree, "
         "halving_doubling, star, clique, binary_tree_star, multi_binary_tree_star, hierarchical, "
         "parameter_server, nccl, dimension_search, found \"automatic\""},
        {true, "/job/optimizer", "adam",
         "/job/optimizer: is no longer read: write \"optimiser_state\": \"adam\""},
        {true, "/job/optimiser", R"({"kind": "adam"})",
         "/job/optimiser: is no longer read: write \"optimiser_state\": \"adam\""},
        {false, "/learning", real + R"("synchronisation": {"rule": "local_sgd", "period": 4}})",
         "/learning/synchronisation: is no longer read as an object: write \"synchronisation\": "
         "\"local_sgd\", and what belongs to the rule at \"synchronisation_settings\""},
        {false, "/job/step_time/synchronisation", R"({"2": "20 ms"})",
         "/job/step_time/synchronisation" + exchange},
        {false, "/job/step_time/codecs", R"([{"codec": "top_k", "synchronisation": {"1": "1 s"}}])",
         "/job/step_time/codecs/0/synchronisation" + exchange},
        {false, "/training/model/layers", "2",
         "/training/model/layers: is no longer read: write the units of each layer, as in "
         "\"hidden\": [64, 64]"},
        {false, "/training/model/hidden", "64",
         "/training/model/hidden: expected a list of numbers, found 64"},
        {false, "/training/bucket_kib", "64",
         "/training/bucket_kib: is no longer read: write \"bucket\": \"1024 KiB\""},
        {false, "/job/learners", R"({"1": 1, "2": 1.6})",
         "/job/learners: is no longer read: write it as \"learner_speeds\": {\"1\": 1, \"2\": "
         "1.6}"},
        {false, "/learning", real + R"("learners_per_worker": 2})",
         "/learning/learners_per_worker: is no longer read: write \"learners\" at /training"},
    };
    return all;
}

}  // namespace

TEST_CASE("old forms: the scenarios that they are put into are read", "[scenario]") {
    CHECK_NOTHROW(scenario_from_text(job_text, "old.json"));
    CHECK_NOTHROW(step_scenario_from_text(steps_text, "old.json"));
}

TEST_CASE("old forms: each is refused with the new one named", "[scenario]") {
    for (const OldForm& old : old_forms()) {
        CAPTURE(old.pointer, old.value);
        const std::vector<ConfigOverride> set{{old.pointer, old.value, "--set"}};
        CHECK(complaint_of([&] {
                  if (old.of_steps) {
                      step_scenario_from_text(steps_text, "old.json", set);
                  } else {
                      scenario_from_text(job_text, "old.json", set);
                  }
              }) == "old.json: at " + old.complaint);
    }
}
