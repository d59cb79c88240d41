// cluster_file_test.cpp — clusters as people write them.
#include "sim/cluster/cluster_file.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "base/input_error.hpp"
#include "sim/cluster/routes.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/sim/cluster/dumps.hpp"

namespace ukemi {
namespace {

sim::ClusterSpec parse(std::string_view text) {
    ConfigReader config = ConfigReader::from_text(text, "c.json");
    return sim::read_cluster(config);
}

}  // namespace

TEST_CASE("cluster file: every network is read", "[cluster_file]") {
    const sim::ClusterSpec spec = parse(
        R"({"machine": "p3.16xlarge", "count": 8, "network": {"kind": "leaf_spine",
            "machines_per_leaf": 4, "spines": 2, "oversubscription": 4, "bandwidth": "40 Gbit/s",
            "latency": "30 us"}})");
    REQUIRE(spec.zones.size() == 1);
    const sim::Topology topology = sim::build_cluster(spec);
    sim::Routes routes(topology);
    const auto gpus = topology.workers();
    REQUIRE(gpus.size() == 64);
    CHECK(routes.bandwidth(gpus[0], gpus[8]).raw() == 5e9);
    CHECK(routes.bandwidth(gpus[0], gpus[32]).raw() == 5e9 * 4 / 4 / 2);
    const sim::ClusterSpec zones = parse(
        R"({"zones": [{"machine": "g4dn.xlarge"}, {"machine": "p3.2xlarge", "count": 2,
            "network": {"kind": "torus", "x": 2}}],
            "between_zones": {"bandwidth": "5 Gbit/s", "latency": "2 ms"}})");
    CHECK(sim::build_cluster(zones).workers().size() == 3);
}

TEST_CASE("cluster file: what is wrong is named by its path", "[cluster_file]") {
    const auto [text, complaint] = GENERATE(table<const char*, const char*>({
        {R"({"machine": "p3.16xlarg"})", "c.json: at /machine: there is no machine"},
        {R"({"machine": "p3.2xlarge", "count": 0})", "at /count: expected an integer from 1"},
        {R"({"machine": "p3.2xlarge", "network": {"kind": "star"}})", "/network/kind"},
        {R"({"machine": "p3.2xlarge", "network": {"kind": "ring", "spines": 2}})", "\"spines\""},
        {R"({"machine": "p3.2xlarge", "network": {"kind": "ring", "bandwidth": "0 Gbit/s"}})",
         "at /network/bandwidth: expected a bandwidth above zero"},
        {R"({"zones": []})", "at least one zone"},
        {R"({"zones": [{"machine": "p3.2xlarge", "size": 1}]})", "\"size\""},
    }));
    CAPTURE(text);
    CHECK_THROWS_WITH(parse(text), Catch::Contains(complaint));
    CHECK_THROWS_AS(parse(text), InputError);
}

TEST_CASE("cluster file: a topology is found by name or by what its file begins with",
          "[cluster_file]") {
    CHECK(sim::topology_of("dgx_a100", 2).workers().size() == 16);
    CHECK_THROWS_WITH(sim::topology_of("dgx_a10"), Catch::Contains("did you mean \"dgx_a100\""));
    const ScratchFolder folder;
    const auto file = folder / "topology";
    for (const std::string& text :
         {dgx1_xml(), dgx1_smi(), std::string(R"( {"machine": "dgx1_v100"})")}) {
        std::ofstream(file) << text;
        CHECK(sim::topology_of(file.string()).workers().size() == 8);
        CHECK_THROWS_WITH(sim::topology_of(file.string(), 2),
                          Catch::Contains("cannot be taken 2 times"));
    }
}

}  // namespace ukemi
