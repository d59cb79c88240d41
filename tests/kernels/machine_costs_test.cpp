// machine_costs_test.cpp — that everything is measured and compared; how long it takes is nobody's
// business here.
#include "kernels/machine_costs.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/scratch_folder.hpp"

using namespace ukemi;
using namespace ukemi::kernels;

TEST_CASE("machine costs: every part of a step has a curve, and nothing in it is wrong",
          "[machine_costs]") {
    const ScratchFolder folder;
    const MachineCosts costs = measure_machine({.ranks = 2,
                                                .warm_up = 1,
                                                .operations = 3,
                                                .bytes_most = 64 << 10,
                                                .folder = folder.path()});
    for (const char* name : {"copy", "monitor noise_step", "codec top_k", "codec power_sgd",
                             "checkpoint write", "checkpoint read", "all_reduce ring"}) {
        CAPTURE(name);
        const auto curve = std::ranges::find(costs.curves, name, &MachineCurve::name);
        REQUIRE(curve != costs.curves.end());
        CHECK(curve->points.size() >= 2);
        CHECK(curve->fit().has_value());
        std::int64_t before = -1;
        for (const MachinePoint& point : curve->points) {
            CHECK(point.bytes > before);
            CHECK(point.wrong == 0);
            CHECK(point.times.s.size() == 3);
            before = point.bytes;
        }
    }
    CHECK(costs.device_memory_bytes > 0);
    const auto creation = std::ranges::find(costs.curves, "communicator", &MachineCurve::name);
    REQUIRE(creation != costs.curves.end());
    CHECK(creation->ranks == 2);
    CHECK_FALSE(creation->points.front().times.s.empty());
    CHECK_FALSE(creation->fit().has_value());
}

namespace {

// A device that has one work, and gets it wrong where it is large.
class OneWork final : public MeasuredDevice {
public:
    std::int64_t memory_bytes() const override { return 12; }
    std::vector<std::string> works() const override { return {"work"}; }
    std::unique_ptr<DeviceWork> work(std::string_view, std::int64_t bytes) override {
        if (bytes > 64 << 10) return nullptr;
        return std::make_unique<HostWork>([] {}, [bytes] { return bytes > 4 << 10 ? 3 : 0; });
    }
};

}  // namespace

TEST_CASE("machine costs: a device is measured in the host's place, at sizes of its own",
          "[machine_costs]") {
    OneWork device;
    const MachineCosts costs = measure_machine({.ranks = 1,
                                                .warm_up = 1,
                                                .operations = 3,
                                                .bytes_most = 4 << 10,
                                                .device = &device,
                                                .device_bytes_most = 1 << 20});
    CHECK(costs.device_memory_bytes == 12);
    REQUIRE(costs.curves.size() == 2);
    CHECK(costs.curves[0].name == "work");
    REQUIRE(costs.curves[0].points.size() == 2);  // the third takes too long
    CHECK(costs.curves[0].points[0].wrong == 0);
    CHECK(costs.curves[0].points[1].wrong == 3);
    CHECK(costs.curves[1].name == "host copy");
}

TEST_CASE("machine costs: alone there is nobody to communicate with", "[machine_costs]") {
    CHECK(measure_collectives({.ranks = 1}).empty());
}

TEST_CASE("machine costs: bus bandwidth has the factors of nccl-tests", "[machine_costs]") {
    // doc/PERFORMANCE.md of nccl-tests
    CHECK(bus_factor("all_reduce", 8) == 1.75);
    CHECK(bus_factor("all_reduce", 1) == 0);
    CHECK(bus_factor("all_gather", 4) == 0.75);
    CHECK(bus_factor("reduce_scatter", 2) == 0.5);
    CHECK(bus_factor("alltoall", 4) == 0.75);
    CHECK(bus_factor("broadcast", 8) == 1);
    CHECK(bus_factor("reduce", 8) == 1);
}

TEST_CASE("measured times: what is said of them", "[machine_costs]") {
    const MeasuredTimes times{{3, 1, 2}};
    CHECK(times.median() == 2);
    CHECK(times.mean() == 2);
    CHECK(times.cv() == Approx(0.5));
    CHECK(times.middle_mean() == 2);
    CHECK(MeasuredTimes{{4, 1}}.middle_mean() == 2.5);
    CHECK(MeasuredTimes{{9, 2, 2, 2, 4, 4, 4, 1}}.middle_mean() == 3);  // without 1 and 9
    CHECK(times.spread() == Approx(0.8));                               // (2.8 − 1.2) ÷ 2
    CHECK(MeasuredTimes{}.spread() == 0);
}
