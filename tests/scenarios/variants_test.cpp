// variants_test.cpp — one scenario document as many scenarios: every combination of some values.
#include <catch2/catch.hpp>

#include "base/unit_text.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "scenarios/reader/variants.hpp"
#include "tests/scenarios/scenario_text.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {

namespace {

using Texts = std::vector<std::string>;

constexpr std::string_view variants_document = R"({"name": "small", "seed": 1,
 "job": {"work": "10 h", "deadline": "20 h"},
 "cluster": {"count": 1},
 "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
 "replay": ["on_demand", "greedy"]})";

std::vector<scenarios::Scenario> variants_of(const Texts& arguments,
                                             const std::vector<ConfigOverride>& overrides = {}) {
    std::vector<scenarios::VariedKey> keys;
    for (const std::string& argument : arguments)
        keys.push_back(scenarios::parse_varied_key(argument));
    return scenarios::variants_from_text(variants_document, "small.json", overrides, keys);
}

std::string complaint_about(const Texts& arguments) {
    return complaint_of([&] { variants_of(arguments); });
}

scenarios::ExperimentSetup in_test() {
    scenarios::ExperimentSetup setup;
    setup.threads = 2;
    return setup;
}

// Every variant with the policies and the seed that it names itself.
std::vector<scenarios::ExperimentCase> cases_of(const std::vector<scenarios::Scenario>& variants) {
    std::vector<scenarios::ExperimentCase> cases;
    for (const scenarios::Scenario& variant : variants) {
        cases.push_back({&variant, variant.policies, {variant.seed}});
    }
    return cases;
}

}  // namespace

TEST_CASE("varied keys: values are parted by commas outside of brackets and quotes", "[variants]") {
    const scenarios::VariedKey plain = scenarios::parse_varied_key("/job/deadline=60h,70 h,3");
    CHECK(plain.pointer == "/job/deadline");
    CHECK(plain.values == Texts{"60h", "70 h", "3"});
    CHECK(scenarios::parse_varied_key(R"(/cluster={"count": 1, "instance": "a,b"},{"count": 2})")
              .values == Texts{R"({"count": 1, "instance": "a,b"})", R"({"count": 2})"});
    CHECK(scenarios::parse_varied_key(R"(/replay=["greedy", "on_demand"],["greedy"])").values ==
          Texts{R"(["greedy", "on_demand"])", R"(["greedy"])"});
    CHECK(scenarios::parse_varied_key(R"(/description="a, b \" c,",d=e)").values ==
          Texts{R"("a, b \" c,")", "d=e"});
    CHECK(scenarios::parse_varied_key("/seed=1").values == Texts{"1"});
}

TEST_CASE("varied keys: what is no pointer with values is refused", "[variants]") {
    const auto complaint = [](std::string_view text) {
        return complaint_of([&] { scenarios::parse_varied_key(text); });
    };
    CHECK(complaint("job/work=1 h,2 h") ==
          "--vary: expected /json/pointer=VALUE,VALUE…, found \"job/work=1 h,2 h\"");
    CHECK(complaint("/job/work") ==
          "--vary: expected /json/pointer=VALUE,VALUE…, found \"/job/work\"");
    CHECK(complaint("/job/work=1 h,,2 h") == "--vary /job/work: expected a value, found none");
    CHECK(complaint("/job/work=") == "--vary /job/work: expected a value, found none");
    CHECK(complaint("/job/work=1 h,2 h,1 h") == "--vary /job/work: \"1 h\" stands there twice");
    CHECK(complaint("/cluster={\"count\": 1,2") ==
          "--vary /cluster: a bracket or a quote is not closed in \"{\"count\": 1,2\"");
    CHECK(complaint("/cluster=1},{2") ==
          "--vary /cluster: a bracket or a quote is not closed in \"1},{2\"");
}

TEST_CASE("variants: every combination is a scenario, the last key changes fastest", "[variants]") {
    const auto variants = variants_of({"/job/deadline=12h,15 h", "/cluster/count=1,2,3"});
    REQUIRE(variants.size() == 6);
    std::string order;
    for (const scenarios::Scenario& variant : variants) {
        order += fmt::format("{}: {} {}\n", scenarios::variant_label(variant.varied),
                             format_duration(variant.job.deadline.since_start()),
                             variant.job.instances_max);
    }
    CHECK(order ==
          "/job/deadline=12h, /cluster/count=1: 12 h 1\n"
          "/job/deadline=12h, /cluster/count=2: 12 h 2\n"
          "/job/deadline=12h, /cluster/count=3: 12 h 3\n"
          "/job/deadline=15 h, /cluster/count=1: 15 h 1\n"
          "/job/deadline=15 h, /cluster/count=2: 15 h 2\n"
          "/job/deadline=15 h, /cluster/count=3: 15 h 3\n");
    CHECK(variants[0].resolved.find("\"deadline\": \"12h\"") != std::string::npos);
    CHECK(variants_of({}).size() == 1);  // the scenario itself
    CHECK(variants_of({})[0].varied.empty());
}

TEST_CASE("variants: any key can vary, and values are JSON or else text", "[variants]") {
    const auto variants = variants_of({R"(/replay=["greedy"],["spot_only", "on_demand"])",
                                       R"(/job/restart=0 s,"5 min")", "/seed=4,5"});
    REQUIRE(variants.size() == 8);
    CHECK(variants[0].policies.size() == 1);
    CHECK(variants[7].policies.size() == 2);
    CHECK(variants[7].seed == 5);
    CHECK(variants[7].job.profile.restart == minutes(5));
    const auto over = variants_of({"/cluster/count=2,3"},
                                  {{.pointer = "/cluster", .value = R"({"instance": "x"})"}});
    CHECK(over[1].market.instance_type == "x");  // what --set says holds for all of them
    CHECK(over[1].job.instances_max == 3);
}

TEST_CASE("variants: a key may lie in a section that the document lacks", "[variants]") {
    const auto variants = variants_of({"/job/checkpoint/cost=1 min,2 min"});
    REQUIRE(variants.size() == 2);
    CHECK(variants[1].resolved.find("\"cost\": \"2 min\"") != std::string::npos);
    CHECK(variants[1].resolved ==
          variants_of({R"(/job/checkpoint={"cost": "2 min"})"})[0].resolved);
    CHECK_THAT(complaint_about({"/job/checkpiont/cost=1 min"}),
               Catch::Contains("at /job: unknown key \"checkpiont\" (did you mean "
                               "\"checkpoint\"?)"));
}

TEST_CASE("variants: where a kind meets another one's keys, all of the section can vary",
          "[variants]") {
    const auto read = [](const Texts& arguments) {
        std::vector<scenarios::VariedKey> keys;
        for (const std::string& one : arguments) keys.push_back(scenarios::parse_varied_key(one));
        scenarios::for_each_variant({}, keys, [](auto overrides, auto) {
            scenarios::step_scenario_from_text(
                R"({"name": "s", "seed": 1,
                    "cluster": {"machine": "p3.2xlarge", "count": 4,
                                "network": {"kind": "leaf_spine", "spines": 2}},
                    "job": {"model": "resnet50", "batch": 8,
                            "buckets": {"rule": "filled", "size": "1 MiB"},
                            "variable_update": "parameter_server", "servers": {"count": 1}}})",
                "s.json", overrides);
        });
    };
    CHECK_THROWS_WITH(read({"/cluster/network/kind=single_switch"}),
                      "--vary /cluster/network/kind=single_switch: s.json: at "
                      "/cluster/network/spines: goes with the kind leaf_spine or rails, found "
                      "single_switch (with the keys beside it, --vary "
                      "'/cluster/network={…},{…}' varies it)");
    CHECK_NOTHROW(
        read({R"(/cluster/network={"kind": "single_switch"},{"kind": "rails", "spines": 2})"}));
    CHECK_THROWS_WITH(
        read({"/job/variable_update=horovod"}),
        Catch::Contains("at /job/servers: horovod has no servers") &&
            Catch::EndsWith(" (with the keys beside it, --vary '/job={…},{…}' varies it)"));
    CHECK_NOTHROW(
        read({R"(/job={"model": "resnet50", "batch": 8, "variable_update": "horovod"},)"
              R"({"model": "resnet50", "batch": 8, "variable_update": "parameter_server"})"}));
    CHECK_THROWS_WITH(read({"/job/buckets/rule=one"}),
                      Catch::EndsWith("at /job/buckets/size: goes with \"rule\": \"filled\" or "
                                      "\"chunks\" (with the keys beside it, --vary "
                                      "'/job/buckets={…},{…}' varies it)"));
    // A value that no such key may have, and a key that there is not.
    CHECK_THROWS_WITH(read({"/job/batch=none"}), !Catch::Contains("beside it"));
    CHECK_THROWS_WITH(read({"/job/bacth=3"}), !Catch::Contains("beside it"));
}

TEST_CASE("variants: a bad value is named with its pointer before anything runs", "[variants]") {
    CHECK_THAT(
        complaint_about({"/job/deadline=12h,soon"}),
        Catch::StartsWith("--vary /job/deadline=soon: small.json: at /job/deadline: expected "
                          "a duration such as"));
    CHECK_THAT(complaint_about({"/cluster/count=1,2", "/job/deadline=12h,0 s"}),
               Catch::StartsWith("--vary /job/deadline=0 s: small.json: at /job/deadline: "));
    // What only two values together make wrong names both.
    CHECK_THAT(complaint_about(
                   {R"(/cluster={"count_max": 2},{"count_max": 8})", "/cluster/count_min=1,4"}),
               Catch::StartsWith("--vary /cluster={\"count_max\": 2}, /cluster/count_min=4: "));
    CHECK_THAT(complaint_about({"/jobs/deadline=1h,2h"}),
               Catch::Equals("--vary /jobs/deadline=1h: small.json: at /: unknown key \"jobs\" "
                             "(did you mean \"job\"?)"));
    CHECK_THAT(complaint_about({"/job/dedline=1h,2h"}),
               Catch::StartsWith("--vary /job/dedline=1h: small.json: at /job: unknown key"));
}

TEST_CASE("variants: a key that another one would undo is refused", "[variants]") {
    CHECK(complaint_about({"/seed=1,2", "/seed=3"}) == "--vary /seed: stands there twice");
    CHECK(complaint_about({"/job/deadline=1h,2h", "/job={}"}) ==
          "--vary /job: would undo --vary /job/deadline: name it before");
    CHECK(complaint_of([] { variants_of({"/seed=1,2"}, {{.pointer = "/seed", .value = "3"}}); }) ==
          "--vary /seed: would undo --set /seed");
}

TEST_CASE("variants: their number is bounded", "[variants]") {
    std::string many = "/seed=0";
    for (int seed = 1; seed < 101; ++seed) many += fmt::format(",{}", seed);
    std::string more = many;
    more.replace(0, 5, "/limits/events_max");
    more.replace(more.find("=0,"), 3, "=1000,");
    CHECK(complaint_about({many, more}) == "--vary: expected at most 10000 variants, found 10201");
    // The product itself must not overflow.
    Texts keys;
    for (int key = 0; key < 12; ++key) keys.push_back(fmt::format("/x{}{}", key, many.substr(5)));
    CHECK_THAT(complaint_about(keys),
               Catch::StartsWith("--vary: expected at most 10000 variants, found more"));
}

TEST_CASE("variants: runs come by variant, then as those of one scenario", "[variants]") {
    const auto variants = variants_of({"/job/deadline=12h,15h", "/seed=3,4"});
    scenarios::ExperimentSetup setup = in_test();
    const auto runs = scenarios::run_experiment(cases_of(variants), setup);
    std::string order;
    for (const scenarios::FinishedRun& run : runs) {
        order +=
            fmt::format("{} {} {} {}\n", scenarios::variant_label(run.result.varied),
                        run.result.policy, run.result.seed, format_duration(*run.result.deadline));
    }
    CHECK(order ==
          "/job/deadline=12h, /seed=3 on_demand 3 12 h\n"
          "/job/deadline=12h, /seed=3 greedy 3 12 h\n"
          "/job/deadline=12h, /seed=4 on_demand 4 12 h\n"
          "/job/deadline=12h, /seed=4 greedy 4 12 h\n"
          "/job/deadline=15h, /seed=3 on_demand 3 15 h\n"
          "/job/deadline=15h, /seed=3 greedy 3 15 h\n"
          "/job/deadline=15h, /seed=4 on_demand 4 15 h\n"
          "/job/deadline=15h, /seed=4 greedy 4 15 h\n");
    // A variant runs as the scenario does that says the same by itself.
    scenarios::ExperimentSetup alone = in_test();
    alone.policies = variants[3].policies;
    alone.seeds = {4};
    const auto same = scenarios::run_experiment(variants[3], alone);
    REQUIRE(same.size() == 2);
    CHECK(same[0].result.event_hash == runs[6].result.event_hash);
    CHECK(same[1].result.event_hash == runs[7].result.event_hash);
    setup.threads = 1;
    const auto again = scenarios::run_experiment(cases_of(variants), setup);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        CHECK(again[i].result.event_hash == runs[i].result.event_hash);
    }
}

TEST_CASE("variants: one that cannot run is refused before any of them runs", "[variants]") {
    const auto variants = variants_of({R"(/replay=["on_demand"],["ideal_no_overhead"])"});
    scenarios::ExperimentSetup setup = in_test();
    std::size_t finished = 0;
    setup.progress = [&](std::size_t, std::size_t) { ++finished; };
    CHECK_THAT(
        complaint_of([&] { scenarios::run_experiment(cases_of(variants), setup); }),
        Catch::StartsWith("--vary /replay=[\"ideal_no_overhead\"]: small.json: at /replay/0: "
                          "\"ideal_no_overhead\" needs an oracle"));
    CHECK(finished == 0);
}

TEST_CASE("variants: details of the first run of each policy, whichever variant has it first",
          "[variants]") {
    const auto variants =
        variants_of({R"(/replay=["on_demand"],["greedy", "on_demand"])", "/seed=1,2"});
    scenarios::ExperimentSetup setup = in_test();
    setup.details = scenarios::Details::first;
    setup.options.timeline = true;
    std::string kept;
    for (const scenarios::FinishedRun& run : scenarios::run_experiment(cases_of(variants), setup)) {
        kept += run.result.timeline.empty() ? '-' : 'x';
    }
    CHECK(kept == "x-x---");
}

}  // namespace ukemi
