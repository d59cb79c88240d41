// reference_scenarios_test.cpp — simulated times equal those of independent solvers.
#include "tests/support/reference_scenarios.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/input_error.hpp"
#include "tests/recorded.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::sim;

namespace {

constexpr double tolerance_s = 2e-9;

void check_ends(const ReferenceResult& result, const std::vector<double>& expected_s) {
    REQUIRE(result.job_ends.size() == expected_s.size());
    for (std::size_t job = 0; job < expected_s.size(); ++job) {
        CAPTURE(job);
        CHECK(to_seconds(result.job_ends[job].since_start()) ==
              Approx(expected_s[job]).epsilon(0).margin(tolerance_s));
    }
}

}  // namespace

// NETWORK §2 and network/expected.json; SimGrid 3.32 (CM02, full), a naive solver and, for rings,
// closed forms agree to the nanosecond.
TEST_CASE("reference scenarios: eight hosts take exactly the known time", "[network][golden]") {
    struct Golden {
        const char* name;
        std::int32_t hosts;
        std::vector<double> ends_s;
    };
    const std::vector<Golden> goldens = {
        {"star-ring", 8, {0.014708064}},
        {"tree-ring", 8, {0.014736064}},
        {"tree-ring-strided", 8, {0.058776256}},
        {"tree-2rings", 8, {0.037772736, 0.037772736}},
        {"tree-2rings-strided", 8, {0.050355648, 0.050355648}},
        {"tree-2rings-late", 8, {0.027764736, 0.037768736}},
        {"tree-2rings-samehosts", 8, {0.073428320, 0.073428320}},
        {"tree-ring-degrade", 8, {0.068770256}},
        {"star-hd", 8, {0.014692064}},
        {"tree-hd", 8, {0.039861888}},
        {"star-dbtree", 8, {0.017417779}},
        {"tree-dbtree", 8, {0.017637648}},
        {"star-ps", 8, {0.067112864}},
        {"dgx-ring", 64, {0.016893072}},
        {"dgx-hier", 64, {0.015959403}},
        {"rtt-demo", 3, {0.016777216, 0.016779216}},
        {"selective-demo", 4, {0.001502, 0.001502, 0.001502}},
    };
    for (const Golden& golden : goldens) {
        CAPTURE(golden.name);
        const ReferenceResult result =
            run_reference(reference_scenario(golden.name, golden.hosts), true);
        CHECK(result.fault == "");
        check_ends(result, golden.ends_s);
    }
}

TEST_CASE("reference scenarios: up to 256 hosts take exactly the recorded time",
          "[network][golden]") {
    std::ifstream file(reference_outputs() / "network/expected.json");
    REQUIRE(file);
    const auto recorded = nlohmann::json::parse(file).at("scenarios");
    int count = 0;
    for (const auto& [key, expected] : recorded.items()) {
        const std::int32_t hosts = expected.at("n").get<std::int32_t>();
        if (hosts > 256) continue;
        CAPTURE(key);
        const std::string name = key.substr(0, key.find('/'));
        const ReferenceResult result = run_reference(reference_scenario(name, hosts), hosts <= 64);
        CHECK(result.fault == "");
        CHECK(result.flow_count == expected.at("flows").get<std::uint64_t>());
        check_ends(result, expected.contains("job_end_s")
                               ? expected.at("job_end_s").get<std::vector<double>>()
                               : std::vector{expected.at("sim_s").get<double>()});
        ++count;
    }
    CHECK(count >= 40);
}

TEST_CASE("reference scenarios: an unknown one is refused by name", "[network]") {
    CHECK_THROWS_WITH(reference_scenario("star-rong", 8),
                      "network: there is no reference scenario \"star-rong\" "
                      "(did you mean \"star-ring\"?)");
}
