// nccl_times_test.cpp — where NCCL's ranks stand, what it picks by its prices, and how far the
// times are from recorded ones.
#include "sim/cluster/nccl/nccl_times.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "base/input_error.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/nccl/nccl_fit.hpp"
#include "tests/recorded.hpp"
#include "tests/support/nccl_tables.hpp"

namespace ukemi {
namespace {

constexpr sim::NcclChoice ring_simple{sim::NcclAlgorithm::ring, sim::NcclProtocol::simple};

sim::NcclPlace place_on(std::string machine, std::int32_t machines, std::int32_t per_machine) {
    test::NcclTable table;
    table.name = "test";
    table.machine = std::move(machine);
    table.machines = machines;
    table.per_machine = per_machine;
    return test::place_of(table);
}

}  // namespace

TEST_CASE("nccl times: a place has the rings and NICs of its machines", "[nccl_times]") {
    const sim::NcclPlace five = place_on("dgx1_v100", 1, 5);
    CHECK(five.inside.raw() == 50e9);
    CHECK(five.channels == 2);
    CHECK(five.inside_share == Approx(37.12 / 50));  // relayed
    CHECK(five.between == BytesPerSecond::max());
    const sim::NcclPlace many = place_on("dgx_h100", 10, 4);
    CHECK(many.ranks() == 40);
    CHECK(many.inside.raw() == 450e9);
    CHECK(many.between.raw() == 4 * 50e9);  // four of the eight NICs
    CHECK(many.channels == 4);
    CHECK(many.twice);  // four NICs of 48 GB/s
    CHECK_FALSE(place_on("dgx_h100", 2, 8).twice);
    CHECK_FALSE(place_on("dgx_a100", 2, 2).twice);  // 24 GB/s
    CHECK(many.nvls);
    CHECK(many.hop_us == 0);
    CHECK(place_on("dgx_h100", 1, 8).nvls);
    CHECK_FALSE(place_on("dgx_a100", 1, 8).nvls);
    const sim::NcclPlace single = place_on("dgx_h100", 2, 1);
    CHECK(single.inside == BytesPerSecond::max());
    CHECK(single.between.raw() == 50e9);
    // GPUs and NICs of Polaris share no PCIe switch, and Slingshot's software has no LL128.
    CHECK_FALSE(place_on("polaris", 2, 4).ll128);
    CHECK(place_on("dgx_a100", 2, 8).ll128);
    CHECK(place_on("dgx_b200", 1, 8).ll128);
    CHECK_FALSE(place_on("dgx_b200", 2, 8).ll128);
    CHECK(place_on("dgx_b200", 1, 4).blackwell_board());
    CHECK_FALSE(place_on("gb200_nvl72", 1, 4).blackwell_board());
    CHECK_FALSE(place_on("dgx_h100", 1, 8).blackwell_board());
    CHECK(place_on("p4d.24xlarge", 2, 8).hop_us == Approx(65 - 1.5));
}

TEST_CASE("nccl times: a slow network is seen through its switches", "[nccl_times]") {
    sim::FabricSpec fabric;
    fabric.kind = sim::FabricKind::leaf_spine;
    fabric.machines_per_leaf = 1;
    fabric.oversubscription = 4;
    const sim::Topology topology = sim::build_cluster("dgx_a100", 2, fabric);
    sim::Routes routes(topology);
    const sim::NcclPlace place = sim::nccl_place(topology, routes, topology.workers(), "test");
    CHECK(place.between.raw() == Approx(8 * 25e9 / 4));
}

TEST_CASE("nccl times: what a scenario says of links replaces what is known of them",
          "[nccl_times]") {
    sim::Topology topology = sim::build_cluster("dgx_a100", 2);
    topology.derate(sim::LinkKind::network, 0.5);
    sim::Routes routes(topology);
    const sim::NcclPlace place = sim::nccl_place(topology, routes, topology.workers(), "test");
    CHECK(place.between.raw() == Approx(200e9));
    CHECK(place.between_share == 0.5);
    CHECK_THAT(place.reach, Catch::Contains("InfiniBand or RoCE at 0.5 (efficiency)"));
    CHECK_THAT(place.reach, Catch::Contains("NVLink 3 at 0.781"));
}

TEST_CASE("nccl times: what PCIe lets through to the NICs bounds what goes between machines",
          "[nccl_times]") {
    sim::Topology topology = sim::build_cluster("dgx_a100", 2);
    topology.derate(sim::LinkKind::pcie, 0.05);
    sim::Routes routes(topology);
    const sim::NcclPlace place = sim::nccl_place(topology, routes, topology.workers(), "test");
    const double slot = sim::pcie_x16_rate(4).raw();
    CHECK(place.between.raw() * place.between_share == Approx(8 * 0.05 * slot));
}

TEST_CASE("nccl times: unequal machines have the NICs of the smallest group", "[nccl_times]") {
    const sim::Topology topology = sim::build_cluster("dgx_a100", 2);
    sim::Routes routes(topology);
    const auto all = topology.workers();
    const sim::NcclPlace place =
        sim::nccl_place(topology, routes, std::span(all).first(12), "test");
    CHECK(place.ranks() == 12);
    CHECK(place.per_machine == 8);
    CHECK(place.between.raw() == 4 * 25e9);
}

TEST_CASE("nccl times: what NCCL cannot run on is refused", "[nccl_times]") {
    const auto refused = [](const std::string& machine, std::size_t workers) {
        const sim::Topology topology = sim::build_cluster(machine, 2);
        sim::Routes routes(topology);
        const auto all = topology.workers();
        sim::nccl_place(topology, routes, std::span(all).first(workers), "at /collective");
    };
    CHECK_THROWS_WITH(refused("dgx_a100", 1), Catch::Contains("needs two workers"));
    CHECK_THROWS_WITH(refused("mi300x_8", 16), Catch::Contains("does not run on mi300x"));
}

TEST_CASE("nccl times: NCCL prices a large ring by its latency and what crosses an edge",
          "[nccl_times]") {
    // Eight V100: six rings at 20 GB/s. 8.4 + 14 hops of 3.4 us; 2 × 7/8 of a GiB at 120 GB/s.
    const sim::NcclPlace place = place_on("dgx1_v100", 1, 8);
    const double expected = (8.4 + 14 * 3.4) / 1e6 + 1.75 * 1073741824.0 / 120e9;
    CHECK(sim::nccl_own_seconds(place, ring_simple, mebibytes(1024)) == Approx(expected));
    CHECK(sim::nccl_choice(place, mebibytes(1024)) == ring_simple);
    for (const auto one : {sim::NcclCollective::all_gather, sim::NcclCollective::reduce_scatter}) {
        CHECK(sim::nccl_choice(place, mebibytes(1024), one) == ring_simple);
        CHECK(sim::nccl_own_seconds(place, ring_simple, mebibytes(1024), one) ==
              Approx((8.4 + 7 * 3.4) / 1e6 + 0.875 * 1073741824.0 / 120e9));
    }
}

TEST_CASE("nccl times: small messages go by LL, then LL128, then Simple", "[nccl_times]") {
    const sim::NcclPlace place = place_on("dgx1_v100", 1, 8);
    CHECK(sim::nccl_choice(place, bytes(1024)).protocol == sim::NcclProtocol::ll);
    CHECK(to_string(sim::nccl_choice(place, mebibytes(8))) == "ring/LL128");
    CHECK(to_string(sim::nccl_choice(place, mebibytes(16))) == "ring/Simple");
}

TEST_CASE("nccl times: switches sum in one H100 machine, and trees of them in several",
          "[nccl_times]") {
    // Eight H100: LL to 1 MiB, then NVLS; two machines: NVLSTree (NVIDIA/nccl-tests#309).
    const sim::NcclPlace one = place_on("dgx_h100", 1, 8);
    CHECK(to_string(sim::nccl_choice(one, mebibytes(1))) == "ring/LL");
    CHECK(to_string(sim::nccl_choice(one, mebibytes(1024))) == "NVLS/Simple");
    CHECK(to_string(sim::nccl_choice(one, mebibytes(1024), sim::NcclCollective::all_gather)) ==
          "ring/Simple");
    CHECK(to_string(sim::nccl_choice(place_on("dgx_h100", 2, 8), mebibytes(1024))) ==
          "NVLSTree/Simple");
    // 16 GiB in 62.4 ms (github xxrjun/nccl-tests-cluster, example-cluster01).
    const double seconds =
        sim::nccl_seconds(one, sim::nccl_choice(one, mebibytes(16384)), mebibytes(16384));
    CHECK(seconds == Approx(0.0624).epsilon(0.03));
    // Each GPU's links carry 9/8 of the buffer.
    const double rate = 450e9 * 20.6 / 25 * 0.85;
    CHECK(seconds == Approx(40e-6 + 17179869184.0 * 9 / 8 / rate).epsilon(1e-9));
}

TEST_CASE("nccl times: sums in switches lack the same for each halving of a buffer",
          "[nccl_times]") {
    // Without launch and latencies: what a GiB takes, over what the rate of so small a buffer is.
    const sim::NcclPlace place = place_on("dgx_h100", 1, 8);
    constexpr sim::NcclChoice nvls{sim::NcclAlgorithm::nvls, sim::NcclProtocol::simple};
    const auto moving = [&](std::int64_t mib) {
        const Bytes size = mebibytes(mib);
        return sim::nccl_seconds(place, nvls, size) -
               sim::nccl_start_seconds(place, nvls, size, sim::NcclCollective::all_reduce, {});
    };
    CHECK(moving(2048) == Approx(2 * moving(1024)));
    CHECK(moving(512) == Approx(moving(1024) / 2 / 0.955));
    CHECK(moving(64) == Approx(moving(1024) / 16 / 0.82));
}

TEST_CASE("nccl times: nothing to sum takes the start alone", "[nccl_times]") {
    constexpr auto reduce = sim::NcclCollective::all_reduce;
    for (const char* machine : {"dgx_a100", "dgx_h100", "dgx_b200"}) {
        for (const std::int32_t machines : {1, 2}) {
            const sim::NcclPlace place = place_on(machine, machines, 8);
            for (const auto algorithm : {sim::NcclAlgorithm::ring, sim::NcclAlgorithm::tree,
                                         sim::NcclAlgorithm::nvls, sim::NcclAlgorithm::nvls_tree}) {
                if (machines == 1 && algorithm == sim::NcclAlgorithm::nvls_tree) continue;
                const sim::NcclChoice choice{algorithm, sim::NcclProtocol::simple};
                CAPTURE(machine, machines, to_string(choice));
                CHECK(sim::nccl_seconds(place, choice, Bytes{}) ==
                      Approx(sim::nccl_start_seconds(place, choice, Bytes{}, reduce, {})));
            }
        }
    }
}

TEST_CASE("nccl times: rings of a board of Blackwell's begin sooner, in a rack they do not",
          "[nccl_times]") {
    const Bytes size = mebibytes(1024);
    constexpr auto gather = sim::NcclCollective::all_gather;
    const auto start = [&](const sim::NcclPlace& place) {
        return sim::nccl_start_seconds(place, ring_simple, size, gather, {});
    };
    const sim::NcclPlace board = place_on("dgx_b200", 1, 8);
    const sim::NcclPlace rack = place_on("gb200_nvl72", 1, 8);
    CHECK(start(rack) - start(board) == Approx(9e-6));
    // 7/8 of a GiB at 0.93 of 18 links of 40.1 GB/s.
    const double moving = 0.875 * 1073741824.0 / (0.93 * 18 * 40.1e9);
    CHECK(sim::nccl_seconds(board, ring_simple, size, gather) ==
          Approx(start(board) + moving).epsilon(1e-6));
    // Each eight GPUs that sum have their 25 us.
    constexpr sim::NcclChoice nvls{sim::NcclAlgorithm::nvls, sim::NcclProtocol::simple};
    const double few = sim::nccl_start_seconds(rack, nvls, size);
    CHECK(sim::nccl_start_seconds(place_on("gb200_nvl72", 1, 72), nvls, size) - few ==
          Approx(8 * 25e-6));
}

TEST_CASE("nccl times: a ring lacks a seventh where NVLinks and NICs are equally fast",
          "[nccl_times]") {
    const Bytes size = mebibytes(65536);  // latencies hardly count
    constexpr auto gather = sim::NcclCollective::all_gather;
    sim::NcclPlace place = place_on("dgx_h100", 2, 8);
    const auto rate = [&](double inside, double between) {
        place.inside = BytesPerSecond::of(inside / place.inside_share);
        place.between = BytesPerSecond::of(between / place.between_share);
        return 15.0 / 16 * static_cast<double>(size.raw()) /
               sim::nccl_seconds(place, ring_simple, size, gather);
    };
    CHECK(rate(300e9, 300e9) == Approx(0.86 * 300e9).epsilon(1e-3));
    CHECK(rate(400e9, 200e9) == Approx(200e9).epsilon(1e-3));
    CHECK(rate(200e9, 400e9) == Approx(200e9).epsilon(1e-3));
}

TEST_CASE("nccl times: a tree crosses a machine's NICs once with two machines, twice with many",
          "[nccl_times]") {
    constexpr sim::NcclChoice tree{sim::NcclAlgorithm::nvls_tree, sim::NcclProtocol::simple};
    const Bytes size = mebibytes(65536);  // beyond the corrections; latencies hardly count
    const auto seconds = [&](std::int32_t machines) {
        return sim::nccl_seconds(place_on("dgx_b200", machines, 8), tree, size);
    };
    CHECK(seconds(2) == Approx(static_cast<double>(size.raw()) / (0.96 * 400e9)).epsilon(1e-3));
    CHECK(seconds(8) == Approx(2 * seconds(2)).epsilon(1e-3));
}

TEST_CASE("nccl times: a price per byte never falls, and a time never shrinks, with one protocol",
          "[nccl_times][property]") {
    for (const char* machine : {"dgx1_v100", "dgx_a100", "dgx_h100", "polaris", "p3.16xlarge"}) {
        for (const std::int32_t machines : {1, 2, 3, 8}) {
            const sim::NcclPlace place =
                place_on(machine, machines, std::string(machine) == "polaris" ? 4 : 8);
            for (std::int64_t size = 1 << 20; size < std::int64_t{1} << 33; size *= 2) {
                CAPTURE(machine, machines, size);
                const double before = sim::nccl_seconds(place, ring_simple, bytes(size));
                const double after = sim::nccl_seconds(place, ring_simple, bytes(2 * size));
                CHECK(after > before);
                CHECK(after < 2 * before);
                CHECK(sim::nccl_seconds(place, sim::nccl_choice(place, bytes(size)), bytes(size)) >
                      0);
            }
        }
    }
}

TEST_CASE("nccl times: switches that sum let a buffer leave a machine once", "[nccl_times]") {
    const auto place = [](const std::string& machine, std::uint32_t machines) {
        sim::ClusterSpec spec;
        spec.zones.push_back({machine, machines, {}});
        spec.zones.front().links = sim::NicLinks{sim::NicKind::infiniband_sharp, {}, {}};
        const sim::Topology topology = sim::build_cluster(spec);
        sim::Routes routes(topology);
        return sim::nccl_place(topology, routes, topology.workers(), "test");
    };
    const sim::NcclPlace a100 = place("dgx_a100", 16);
    const Bytes size = mebibytes(16384);
    constexpr sim::NcclChoice collnet{sim::NcclAlgorithm::collnet, sim::NcclProtocol::simple};
    // NVLink limits it: 8 GPUs give 7/8 and get as much; the NICs could do 192 GB/s.
    CHECK(
        sim::nccl_seconds(a100, collnet, size) ==
        Approx(static_cast<double>(size.raw()) * 1.75 / (300e9 * a100.inside_share)).epsilon(1e-3));
    // H100: NVSwitches and the network's switches, whatever the number of machines.
    constexpr sim::NcclChoice nvls{sim::NcclAlgorithm::nvls, sim::NcclProtocol::simple};
    const double few = sim::nccl_seconds(place("dgx_h100", 2), nvls, size);
    CHECK(sim::nccl_seconds(place("dgx_h100", 32), nvls, size) == Approx(few).epsilon(1e-6));
    CHECK(
        few ==
        Approx(static_cast<double>(size.raw()) * 9 / 8 / (450e9 * 20.6 / 25 * 0.85)).epsilon(1e-2));
    CHECK_FALSE(place_on("dgx_h100", 2, 8).sums);
    CHECK(to_string(sim::nccl_choice(place("dgx_a100", 64), mebibytes(4))) == "CollNet/Simple");
}

TEST_CASE("nccl times: a fit finds the share that made the rows", "[nccl_times]") {
    sim::NcclPlace place = place_on("polaris", 2, 4);
    place.between_share = 0.643;
    std::vector<sim::NcclRow> rows;
    for (std::int64_t mib = 1; mib <= 1024; mib *= 4) {
        const Bytes size = mebibytes(mib);
        rows.push_back({size, sim::nccl_seconds(place, sim::nccl_choice(place, size), size)});
    }
    const sim::NcclFit between = sim::fit_share(place_on("polaris", 2, 4), true, rows);
    CHECK(between.share == 0.643);
    CHECK_FALSE(between.is_least);
    CHECK(between.off < 1e-9);
}

TEST_CASE("nccl times: where the network holds nothing up, a fit keeps what is known of it",
          "[nccl_times]") {
    const sim::NcclPlace place = place_on("dgx_h100", 2, 8);
    for (const double noise : {0.0, 0.01}) {
        CAPTURE(noise);
        std::vector<sim::NcclRow> rows;
        for (std::int64_t mib = 1; mib <= 2048; mib *= 2) {
            const Bytes size = mebibytes(mib);
            const double seconds = sim::nccl_seconds(place, sim::nccl_choice(place, size), size);
            rows.push_back({size, seconds * (rows.size() % 2 == 0 ? 1 + noise : 1 - noise)});
        }
        const sim::NcclFit fit = sim::fit_share(place, true, rows);
        CHECK(fit.is_least);
        CHECK(fit.share == place.between_share);
        CHECK(fit.off <= 1.02 * noise + 1e-9);
    }
}

TEST_CASE("nccl times: published tables, most of them predicted, from 1 MiB on",
          "[nccl_times][golden]") {
    double sum = 0;
    std::size_t count = 0;
    const std::vector<test::NcclTable> tables = test::published_nccl_tables();
    CHECK(std::ranges::count(tables, true, &test::NcclTable::kept_aside) == 15);
    for (const test::NcclTable& table : tables) {
        const test::NcclErrors errors = test::errors_of(table, mebibytes(1));
        fmt::print("{:<30} {:>5.1f} % (NCCL's own {:.1f}, line rate {:.1f})\n", table.name,
                   100 * errors.ours, 100 * errors.own, 100 * errors.naive);
        CAPTURE(table.name);
        CHECK(errors.ours < (table.machines == 20 ? 0.65 : 0.32));  // twenty racks: 62 %
        if (table.fitted || table.collective != sim::NcclCollective::all_reduce) continue;
        sum += errors.ours;
        ++count;
    }
    REQUIRE(count >= 30);
    CHECK(sum / static_cast<double>(count) < 0.10);
}

TEST_CASE("nccl times: recorded tables, fitted and predicted apart, from 1 MiB on",
          "[nccl_times][golden]") {
    const auto data = whole_recorded_data();
    if (!data) {
        WARN("skipped: no recorded data: nccl_bench, vtrain_nccl");
        return;
    }
    std::map<std::string, std::pair<double, int>> means;
    double naive = 0;
    for (const test::NcclTable& table : test::recorded_nccl_tables(*data)) {
        if (table.collective != sim::NcclCollective::all_reduce) continue;
        if (table.machine == "polaris" || table.machine == "a3-megagpu-8g") continue;
        const test::NcclErrors errors = test::errors_of(table, mebibytes(1));
        auto& [sum, count] = means[table.fitted ? "fitted" : "predicted"];
        sum += errors.ours;
        ++count;
        CAPTURE(table.name);
        CHECK(errors.ours < 0.2);
        if (!table.fitted) naive += errors.naive;
    }
    REQUIRE(means["predicted"].second >= 6);
    CHECK(means["fitted"].first / means["fitted"].second < 0.08);
    CHECK(means["predicted"].first / means["predicted"].second < 0.10);
    CHECK(2 * means["predicted"].first < naive);
}

}  // namespace ukemi
