// variable_update_test.cpp — parameter servers against closed forms; workers that do not wait.
#include "sim/step/variable_update.hpp"

#include <catch2/catch.hpp>

#include "sim/cluster/fabric.hpp"
#include "sim/step/step_run.hpp"

namespace ukemi {

namespace {

// The first machines work, the last ones serve.
struct Served {
    Served(const char* machine, std::uint32_t count, std::size_t worker_count,
           std::size_t server_count)
        : topology(sim::build_cluster(machine, count)) {
        const std::vector<sim::DeviceId> all = topology.workers();
        job.name = "job";
        job.workers.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(worker_count));
        for (std::size_t i = 0; i < server_count; ++i) {
            const auto place = static_cast<sim::MachineId>(count - 1 - i);
            job.servers.push_back(topology.devices_of(sim::DeviceKind::cpu, place).front());
        }
        job.compute.assign(worker_count, milliseconds(90));
        job.batch = 32;
        job.launch = {sim::LaunchKind::by_name, {}};
        job.buckets = {{"b", bytes(50'000'000), 1.0}, {"a", bytes(50'000'000), 1.0}};
        sim::place_on_servers(job.buckets, server_count);
        job.steps = 4;
    }

    sim::JobSteps run() const {
        return sim::run_steps(topology, std::span(&job, 1), {}, {1, 1}).front();
    }
    double bandwidth() const {
        sim::Routes routes(topology);
        return routes.bandwidth(job.workers[0], job.servers[0]).raw();
    }

    sim::Topology topology;
    sim::StepJob job;
};

double sending_s(const sim::JobSteps& steps) {
    return to_seconds(steps.steps.back().parts.sending);
}

}  // namespace

TEST_CASE("variable update: variables go to the least laden server, in forward order",
          "[variable_update]") {
    std::vector<sim::GradientBucket> buckets = {
        {"d", bytes(3)}, {"c", bytes(4)}, {"b", bytes(2)}, {"a", bytes(5)}};
    const std::vector<Bytes> load = sim::place_on_servers(buckets, 2);
    CHECK(load == std::vector<Bytes>{bytes(8), bytes(6)});  // a, d and b, c
    CHECK(buckets[3].legs.front().lane == 0);
    CHECK(buckets[2].legs.front().lane == 1);
    CHECK(buckets[1].legs.front().lane == 1);
    CHECK(buckets[0].legs.front().lane == 0);
}

TEST_CASE("variable update: servers of their own take 2 n W / (S B)", "[variable_update]") {
    // All bytes of every worker cross the servers' links, there and back; two servers share them.
    const Served one("p3.2xlarge", 6, 4, 1);
    CHECK(sending_s(one.run()) == Approx(2 * 4 * 100e6 / one.bandwidth()).epsilon(0.001));
    const Served two("p3.2xlarge", 6, 4, 2);
    CHECK(sending_s(two.run()) == Approx(2 * 4 * 50e6 / two.bandwidth()).epsilon(0.001));
    for (const sim::StepRecord& step : two.run().steps) {
        CHECK(step.parts.total() == step.end - step.begin);
    }
}

TEST_CASE("variable update: summing by machine sends once for each machine", "[variable_update]") {
    Served each("p3.16xlarge", 3, 16, 1);
    const double all = sending_s(each.run());
    CHECK(all == Approx(2 * 16 * 100e6 / each.bandwidth()).epsilon(0.01));
    each.job.sums_by_machine = true;
    const double by_machine = sending_s(each.run());
    CHECK(by_machine > 2 * 2 * 100e6 / each.bandwidth());
    CHECK(by_machine < all / 4);  // what is added: the sums over NVLink and PCIe within machines
}

TEST_CASE("variable update: asynchronous throughput is the sum of the workers'",
          "[variable_update]") {
    Served served("p3.2xlarge", 5, 4, 1);
    for (sim::GradientBucket& bucket : served.job.buckets) {
        bucket.bytes = bytes(4);
        bucket.legs.front().bytes = bytes(4);
    }
    served.job.compute = {milliseconds(50), milliseconds(50), milliseconds(100), milliseconds(200)};
    served.job.steps = 400;
    const auto rate = [&] {  // updates a second
        return 4 * 400 / to_seconds(served.run().steps.back().end.since_start());
    };
    CHECK(rate() == Approx(4 / 0.2).epsilon(0.01));  // all wait for the slowest
    served.job.asynchronous = true;
    CHECK(rate() == Approx(2 / 0.05 + 1 / 0.1 + 1 / 0.2).epsilon(0.01));
}

TEST_CASE("variable update: of n equal asynchronous workers each is n - 1 updates stale",
          "[variable_update]") {
    Served served("p3.2xlarge", 5, 4, 1);
    served.job.asynchronous = true;
    served.job.steps = 200;
    const sim::JobSteps result = served.run();
    CHECK(result.steps.size() == 200);
    const sim::Staleness all = sim::staleness_of(result.steps);
    CHECK(all.updates == 800);
    CHECK(all.mean() == Approx(3).epsilon(0.02));
    // The first ones have seen fewer.
    const sim::Staleness later = sim::staleness_of(std::span(result.steps).subspan(1));
    CHECK(later.updates == 796);
    CHECK(later.sum == 3 * later.updates);
    CHECK(all.sum < 3 * all.updates);
    Instant begin;
    for (const sim::StepRecord& step : result.steps) {
        CHECK(step.begin == begin);
        CHECK(step.parts.total() == step.end - step.begin);
        begin = step.end;
    }
    CHECK(result.steps[0].spans.size() >= 4 * 2);
    // One worker is never stale.
    Served alone("p3.2xlarge", 2, 1, 1);
    alone.job.asynchronous = true;
    const sim::JobSteps own = alone.run();
    CHECK(sim::staleness_of(own.steps).sum == 0);
    // It fetches, computes, sends: nothing is hidden, as all is ready last.
    const double seconds_a_step = to_seconds(own.steps.back().end - own.steps.back().begin);
    CHECK(seconds_a_step == Approx(0.090 + 2 * 100e6 / alone.bandwidth()).epsilon(0.002));
}

TEST_CASE("variable update: through the hosts each worker has a connection to each server",
          "[variable_update][transport]") {
    sim::HostTransport hosts;
    hosts.connection = 0.1e9;  // four of them are slower than the server's wire
    hosts.sum = sim::HostTransport::unbounded;
    hosts.device = 10e9;
    hosts.round_trips = 0;
    Served served("p3.2xlarge", 5, 4, 1);
    served.job.hosts = hosts;
    served.job.launch.copy_s_per_byte = hosts.device_s_per_byte();
    // Buckets share the connection there and back; the second is copied after the first, which is
    // so much earlier there, and on its way back.
    CHECK(sending_s(served.run()) == Approx(2 * 100e6 / 0.1e9 + 50e6 / 10e9).epsilon(0.001));
    served.job.hosts->sum = 0.1e9;  // what comes is added up in series with the connection
    CHECK(sending_s(served.run()) == Approx(3 * 100e6 / 0.1e9 + 50e6 / 10e9).epsilon(0.001));

    Served alone("p3.2xlarge", 2, 1, 1);
    alone.job.asynchronous = true;
    alone.job.hosts = hosts;
    const auto step_s = [&] {
        const sim::JobSteps own = alone.run();
        return to_seconds(own.steps.back().end - own.steps.back().begin);
    };
    // Fetched and copied onto the GPU, computed, copied from it by the bucket, sent.
    const double copies_s = (100e6 + 50e6) / 10e9;
    CHECK(step_s() == Approx(0.090 + 2 * 100e6 / 0.1e9 + copies_s).epsilon(0.001));
    alone.job.hosts->sum = 0.1e9;
    CHECK(step_s() == Approx(0.090 + 3 * 100e6 / 0.1e9 + copies_s).epsilon(0.001));
}

TEST_CASE("variable update: an asynchronous job that has ended leaves the links to others",
          "[variable_update]") {
    Served served("p3.2xlarge", 5, 4, 1);
    served.job.asynchronous = true;
    served.job.steps = 1;
    sim::StepJob other = served.job;
    other.name = "other";
    other.asynchronous = false;
    other.steps = 6;
    other.compute.assign(4, milliseconds(200));  // else one sends while the other fetches
    const std::vector<sim::StepJob> both = {served.job, other};
    const auto results = sim::run_steps(served.topology, both, {}, {1, 0});
    CHECK(results[1].steps.front().parts.sending > results[1].steps.back().parts.sending);
    const auto alone = sim::run_steps(served.topology, std::span(&other, 1), {}, {1, 0});
    CHECK(results[1].steps.back().parts.sending == alone[0].steps.back().parts.sending);
}

}  // namespace ukemi
