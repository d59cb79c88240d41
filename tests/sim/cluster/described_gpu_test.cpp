// described_gpu_test.cpp — GPUs that a scenario describes, and those that are like others.
#include "sim/cluster/described_gpu.hpp"

#include <catch2/catch.hpp>

#include "base/input_error.hpp"
#include "sim/cluster/cluster_file.hpp"
#include "sim/cluster/kernel_time.hpp"
#include "sim/cluster/known_curves.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {
namespace {

std::shared_ptr<const sim::GpuProfile> described_gpu(std::string_view text,
                                                     const sim::GpuProfile* usual = nullptr) {
    return sim::read_described_gpu(ConfigReader::from_text(text, "gpu.json"), usual);
}

sim::Topology cluster_of(std::string_view text) {
    ConfigReader config = ConfigReader::from_text(text, "cluster.json");
    return sim::build_cluster(sim::read_cluster(config));
}

}  // namespace

TEST_CASE("described GPUs: what is said counts, the rest is that of `like`", "[described_gpu]") {
    const auto gpu = described_gpu(R"({"like": "rtx4090", "name": "rtx5090",
        "tflops": {"fp32": 104.8, "bf16": 209.5}, "memory": "32 GB",
        "memory_bandwidth": "1792 GB/s", "multiprocessors": 170})");
    CHECK(gpu->name == "rtx5090");
    CHECK(gpu->like == "rtx4090");
    CHECK(gpu->peak_flops(sim::Precision::fp32) == 104.8e12);
    CHECK(gpu->peak_flops(sim::Precision::bf16) == 209.5e12);
    CHECK(gpu->peak_flops(sim::Precision::fp16) == 165.2e12);
    CHECK(gpu->memory == bytes(32'000'000'000));
    CHECK(gpu->memory_gb_per_s == Approx(1792));
    CHECK(gpu->multiprocessors == 170);
    CHECK(gpu->pcie_generation == 4);
    // Shares of the peaks are rtx4090's; its cache grows with the multiprocessors.
    const sim::GpuProfile& listed = sim::gpu_named("rtx4090", "t");
    const sim::KernelRates rates = sim::known_kernel_rates(*gpu, "t");
    const sim::KernelRates of_listed = sim::known_kernel_rates(listed, "t");
    CHECK(rates.product_share == of_listed.product_share);
    CHECK(rates.l2_gb_per_s == Approx(of_listed.l2_gb_per_s * 170 / 128));
    CHECK_THAT(rates.source, Catch::StartsWith("as rtx4090: "));
}

TEST_CASE("described GPUs: measured lines of steps are of the listed GPU alone",
          "[described_gpu]") {
    const sim::ModelProfile model = sim::model_named("resnet50", "t");
    const auto gpu = described_gpu(R"({"like": "v100_sxm2_16gb", "tflops": {"fp32": 31.4}})");
    const sim::KnownCurve listed =
        sim::curve_for(model, sim::gpu_named("v100_sxm2_16gb", "t"), sim::Precision::fp32, "t");
    const sim::KnownCurve twice = sim::curve_for(model, *gpu, sim::Precision::fp32, "t");
    CHECK(listed.measured);
    CHECK_FALSE(twice.measured);
    CHECK(twice.source == "assumed: as v100_sxm2_16gb");
    CHECK(twice.curve.samples_per_second(128) > 1.2 * listed.curve.samples_per_second(128));
}

TEST_CASE("described GPUs: they compute in a machine of the table, whose wires stay",
          "[described_gpu]") {
    const sim::Topology own =
        cluster_of(R"({"machine": "dgx_a100", "count": 2, "gpu": {"memory": "80 GB"}})");
    const sim::Topology listed = cluster_of(R"({"machine": "dgx_a100", "count": 2})");
    CHECK(own.links().size() == listed.links().size());
    for (const sim::Machine& machine : own.machines()) {
        CHECK(machine.gpu == "a100_sxm4_40gb");
        const sim::GpuProfile& gpu = sim::gpu_profile_of(machine, "t");
        CHECK(gpu.name == "described_as_a100_sxm4_40gb");
        CHECK(gpu.memory == bytes(80'000'000'000));
        CHECK(gpu.memory_gb_per_s == 1555);
    }
    CHECK(sim::gpu_profile_of(listed.machines().front(), "t").memory == mebibytes(40960));
    CHECK(sim::gpu_name_of(listed.machines().front()) == "a100_sxm4_40gb");
}

TEST_CASE("described GPUs: in a machine's file they have the NVLinks of `like`",
          "[described_gpu]") {
    const ScratchFolder scratch;
    scratch.file("pair.txt",
                 "        GPU0  GPU1  NIC0  CPU Affinity  NUMA Affinity\n"
                 "GPU0     X    NV4   PXB   0-31          0\n"
                 "GPU1    NV4    X    PXB   0-31          0\n"
                 "NIC0    PXB   PXB    X\n");
    const std::string file = (scratch.path() / "cluster.json").string();
    ConfigReader config = ConfigReader::from_text(
        R"({"machine": "pair.txt", "count": 3, "links": {"bandwidth": "100 Gbit/s"},
            "gpu": {"like": "rtx_a6000", "name": "mine", "memory": "24 GB"}})",
        file);
    const sim::Topology topology = sim::build_cluster(sim::read_cluster(config));
    REQUIRE(topology.machines().size() == 3);
    for (const sim::Machine& machine : topology.machines()) {
        CHECK(machine.gpu == "rtx_a6000");
        CHECK(sim::gpu_name_of(machine) == "mine");
        CHECK(sim::gpu_profile_of(machine, "t").memory == bytes(24'000'000'000));
    }
    for (const sim::Link& link : topology.links()) {
        if (link.kind == sim::LinkKind::nvlink) CHECK(link.bandwidth.raw() == 56.25e9);
    }
}

TEST_CASE("described GPUs: refusals", "[described_gpu]") {
    CHECK_THROWS_WITH(described_gpu("{}"), Catch::Contains("missing key \"like\""));
    CHECK_THROWS_WITH(described_gpu(R"({"like": "rtx409"})"),
                      Catch::Contains("did you mean \"rtx4090\"?"));
    CHECK_THROWS_WITH(described_gpu(R"({"like": "t4", "name": "l4"})"),
                      Catch::Contains("expected a name that is not one of \"ukemi list gpus\""));
    CHECK_THROWS_WITH(described_gpu(R"({"like": "t4", "memory": "0 GB"})"),
                      Catch::Contains("/memory: expected more than 0 bytes"));
    CHECK_THROWS_WITH(described_gpu(R"({"like": "t4", "tflops": {"fp64": 1}})"),
                      Catch::Contains("unknown key \"fp64\""));
    CHECK_THROWS_WITH(described_gpu(R"({"like": "t4", "memory_bandwidth": "100000000 GB/s"})"),
                      Catch::Contains("expected at most"));
    CHECK_THROWS_WITH(described_gpu(R"({"like": "a100_sxm4_80gb", "tflops": {"fp8": 600}})"),
                      Catch::Contains("/tflops/fp8: a100_sxm4_80gb, which it is like, has none"));
    CHECK_THROWS_WITH(cluster_of(R"({"machine": "cpu_16_core", "gpu": {"like": "t4"}})"),
                      Catch::Contains("cpu_16_core has no GPUs"));
    CHECK_THROWS_WITH(cluster_of(R"({"machine": "dgx_a100", "gpu": "t4"})"),
                      Catch::Contains("Expected an object, {\"like\": NAME}"));
}

TEST_CASE("GPUs: what they are like is listed, has a row of its own in the end, and no circle",
          "[described_gpu]") {
    for (const sim::GpuProfile& gpu : sim::all_gpus()) {
        CAPTURE(gpu.name);
        CHECK(gpu.multiprocessors > 0);
        CHECK(sim::known_kernel_rates(gpu, "t").product_share > 0.4);
        std::size_t steps = 0;
        for (const sim::GpuProfile* of = &gpu; of != nullptr; of = sim::gpu_that_is_like(*of)) {
            REQUIRE(++steps < sim::all_gpus().size());
        }
    }
}

}  // namespace ukemi
