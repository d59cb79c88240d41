// cluster_file_test.cpp — clusters as people write them.
#include "sim/cluster/cluster_file.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "base/input_error.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/nccl/nccl_place.hpp"
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

TEST_CASE("cluster file: a latency of nothing is nothing, and one that is not said the usual",
          "[cluster_file]") {
    const auto latency_with = [](const std::string& sections) {
        const sim::Topology topology =
            sim::build_cluster(parse(R"({"machine": "p3.2xlarge", "count": 2)" + sections + "}"));
        sim::Routes routes(topology);
        const auto gpus = topology.workers();
        return routes.latency(gpus[0], gpus[1]);
    };
    const Duration usual = latency_with("");
    CHECK(latency_with(R"(, "network": {"kind": "single_switch"})") == usual);
    CHECK(latency_with(R"(, "links": {}, "network": {"kind": "single_switch"})") == usual);
    const auto on_a_switch = [&](const char* latency) {
        return latency_with(
            fmt::format(R"(, "network": {{"kind": "single_switch", "latency": "{}"}})", latency));
    };
    CHECK(on_a_switch("2 ns") - on_a_switch("0 s") == nanoseconds(2));
    CHECK(usual - on_a_switch("0 s") > nanoseconds(10'000));
    CHECK(latency_with(R"(, "links": {"latency": "0 s"})") == on_a_switch("0 s"));
}

TEST_CASE("cluster file: what is wrong is named by its path", "[cluster_file]") {
    const auto [text, complaint] = GENERATE(table<const char*, const char*>({
        {R"({"machine": "p3.16xlarg"})", "c.json: at /machine: there is no machine"},
        {R"({"machine": "p3.2xlarge", "count": 0})", "at /count: expected an integer from 1"},
        {R"({"machine": "p3.2xlarge", "network": {"kind": "star"}})", "/network/kind"},
        {R"({"machine": "p3.2xlarge", "network": {"kind": "ring", "spines": 2}})",
         "at /network/spines: goes with the kind leaf_spine or rails, found ring"},
        {R"({"machine": "p3.2xlarge", "network": {"kind": "ring", "bandwidth": "0 Gbit/s"}})",
         "at /network/bandwidth: expected a bandwidth above zero"},
        {R"({"machine": "p3.2xlarge", "links": {"bandwidth": "1 Gbit/s"},
             "network": {"kind": "ring", "bandwidth": "2 Gbit/s"}})",
         "at /links: \"bandwidth\" stands in \"network\", too: expected it in one of them"},
        {R"({"machine": "p3.2xlarge", "links": {"latency": "0 s"},
             "network": {"kind": "ring", "latency": "1 ms"}})",
         "at /links: \"latency\" stands in \"network\", too"},
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
    CHECK(sim::topology_of("p3.2xlarge").workers().size() == 1);
    for (const char* name : {"nosuch.xml", "nosuch.json", "folder/nosuch"}) {
        CHECK_THROWS_WITH(sim::topology_of(name),
                          Catch::StartsWith(name) && !Catch::Contains("there is no machine"));
    }
    const ScratchFolder folder;
    const auto file = folder / "topology";
    for (const std::string& text :
         {dgx1_xml(), dgx1_smi(), std::string(R"( {"machine": "dgx1_v100"})")}) {
        std::ofstream(file) << text;
        CHECK(sim::topology_of(file.string()).workers().size() == 8);
    }
    CHECK_THROWS_WITH(sim::topology_of(file.string(), 2),
                      Catch::Contains("cannot be taken 2 times"));
    std::ofstream(file) << dgx1_smi();
    CHECK_THROWS_WITH(sim::topology_of(file.string(), 2), Catch::Contains("how fast its NICs are"));
    std::ofstream(file) << dgx1_xml();
    const sim::Topology two = sim::topology_of(file.string(), 2);
    CHECK(two.workers().size() == 16);
    CHECK_NOTHROW(sim::check_connected(two));
}

TEST_CASE("cluster file: a topology file is a machine, taken and wired as the cluster says",
          "[cluster_file]") {
    const ScratchFolder folder;
    std::ofstream(folder / "node.xml") << dgx1_xml();
    std::ofstream(folder / "node.txt") << dgx1_smi();
    const auto cluster = [&](const std::string& text) {
        const auto file = folder / "cluster.json";
        std::ofstream(file) << text;
        return sim::topology_of(file.string());
    };
    // NCCL's dump says GPUs (sm 70) and NICs (100 Gbit/s); beside it, the preset of that machine.
    const sim::Topology dumped = cluster(R"({"machine": "node.xml", "count": 3})");
    const sim::Topology preset = sim::build_cluster("dgx1_v100", 3);
    REQUIRE(dumped.workers().size() == preset.workers().size());
    CHECK(dumped.machines()[2].gpu == "v100_sxm2_32gb");
    CHECK(dumped.machines()[2].preset == "node.xml");
    sim::Routes dumped_routes(dumped);
    sim::Routes preset_routes(preset);
    const auto from = dumped.workers();
    const auto other = preset.workers();
    CHECK(dumped_routes.bandwidth(from[0], from[9]) == preset_routes.bandwidth(other[0], other[9]));
    CHECK(dumped_routes.bandwidth(from[0], from[3]) == preset_routes.bandwidth(other[0], other[3]));
    const sim::NcclPlace place = sim::nccl_place(dumped, dumped_routes, from, "test");
    const sim::NcclPlace known = sim::nccl_place(preset, preset_routes, other, "test");
    CHECK(place.inside == known.inside);
    CHECK(place.between == known.between);
    CHECK(place.ll128 == known.ll128);

    // NICs behind one switch more (NCCL's PXB) have LL128, too.
    std::string nested = dgx1_xml();
    for (const char* number : {"1", "3", "5", "7"}) {
        const std::string nic = fmt::format("<pci busid=\"0000:8{}:00.0\"", number);
        const auto begin = nested.find(nic);
        REQUIRE(begin != std::string::npos);
        nested.insert(nested.find("</pci>", begin), "</pci>");
        nested.insert(begin, fmt::format("<pci busid=\"0000:e{}:00.0\" class=\"0x060400\" "
                                         "link_speed=\"8.0 GT/s PCIe\" link_width=\"16\">",
                                         number));
    }
    std::ofstream(folder / "nested.xml") << nested;
    const sim::Topology deep = cluster(R"({"machine": "nested.xml", "count": 3})");
    sim::Routes deep_routes(deep);
    CHECK(known.ll128);
    CHECK(sim::nccl_place(deep, deep_routes, deep.workers(), "test").ll128);

    const sim::Topology wired = cluster(R"({"machine": "node.txt", "gpu": "v100_sxm2_32gb",
        "count": 2, "links": {"kind": "efa", "bandwidth": "200 Gbit/s"}})");
    sim::Routes routes(wired);
    const sim::NcclPlace slow = sim::nccl_place(wired, routes, wired.workers(), "test");
    CHECK(slow.between_share == 0.84);
    CHECK(slow.between.raw() == Approx(4 * 12e9 / 0.84).epsilon(1e-4));  // PCIe 3 before the NICs
    CHECK(slow.hop_us == Approx(63.5).margin(0.11));

    CHECK_THROWS_WITH(cluster(R"({"machine": "node.txt", "count": 2})"),
                      Catch::Contains("cluster.json: at /gpu: expected the kind of the machine"));
    CHECK_THROWS_WITH(cluster(R"({"machine": "node.txt", "gpu": "v100_sxm2_32gb", "count": 2})"),
                      Catch::Contains("at /links: expected a bandwidth"));
    std::ofstream(folder / "alone.txt") << "\tGPU0\tGPU1\tCPU Affinity\n"
                                           "GPU0\t X \tPHB\t0-15\nGPU1\tPHB\t X \t0-15\n";
    for (const char* links : {"", R"(, "links": {"bandwidth": "25 Gbit/s"})"}) {
        CHECK_THROWS_WITH(
            cluster(fmt::format(R"({{"machine": "alone.txt", "gpu": "t4", "count": 2{}}})", links)),
            Catch::Contains("at /machine: expected a machine with NICs") &&
                Catch::Contains("add a row and a column NIC0"));
    }
    CHECK_THROWS_WITH(cluster(R"({"machine": "node.xml", "gpu": "v100", "count": 2})"),
                      Catch::Contains("at /gpu: there is no GPU \"v100\""));
    // A preset on other links.
    const sim::Topology roce =
        cluster(R"({"machine": "dgx_h100", "count": 2, "links": {"bandwidth": "200 Gbit/s"}})");
    sim::Routes roce_routes(roce);
    CHECK(sim::nccl_place(roce, roce_routes, roce.workers(), "test").between.raw() == 200e9);
}

TEST_CASE("cluster file: a count that is too large is refused where it stands", "[cluster_file]") {
    const auto built = [](std::string_view text) { sim::build_cluster(parse(text), "c.json"); };
    const std::string too_many =
        "expected fewer machines than 65536: with their network, these are more than 1048576 "
        "devices or 4194304 links";
    CHECK_THROWS_WITH(built(R"({"machine": "p4d.24xlarge", "count": 65536})"),
                      "c.json: at /count: " + too_many);
    CHECK_THROWS_WITH(built(R"({"zones": [{"machine": "p3.2xlarge", "count": 2},
                                          {"machine": "p4d.24xlarge", "count": 65536}]})"),
                      "c.json: at /zones/1/count: " + too_many);
    CHECK_THROWS_WITH(sim::topology_of("p4d.24xlarge", 65536, "--machines"),
                      "--machines: " + too_many);
    CHECK_THROWS_WITH(sim::topology_of("p4d.24xlarge", 100'000, "--machines"),
                      "--machines: expected 1 to 65536 machines, found 100000");
}

}  // namespace ukemi
