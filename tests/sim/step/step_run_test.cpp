// step_run_test.cpp — steps against closed forms, and parts that add up.
#include "sim/step/step_run.hpp"

#include <catch2/catch.hpp>

#include "base/input_error.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/step/collective_choice.hpp"
#include "sim/step/perfetto_trace.hpp"
#include "sim/step/placed_collective.hpp"

namespace ukemi {

namespace {

// Machines of one GPU each on one switch, 10 Gbit/s.
struct SmallCluster {
    explicit SmallCluster(std::uint32_t machines)
        : topology(sim::build_cluster("p3.2xlarge", machines)), workers(topology.workers()) {}

    sim::StepJob job(std::size_t count) const {
        sim::StepJob one;
        one.name = "job";
        one.workers.assign(workers.begin(), workers.begin() + static_cast<std::ptrdiff_t>(count));
        one.compute.assign(count, milliseconds(90));
        one.batch = 32;
        one.buckets = {{"all", bytes(100'000'000), 1.0}};
        one.launch.overhead = {};
        one.steps = 3;
        return one;
    }

    sim::Topology topology;
    std::vector<sim::DeviceId> workers;
};

sim::JobSteps run_one_job(const SmallCluster& cluster, const sim::StepJob& job,
                          const sim::StepOptions& options = {}) {
    return sim::run_steps(cluster.topology, std::span(&job, 1), {}, options).front();
}

Duration alone(const SmallCluster& cluster, const sim::StepJob& job, Bytes size) {
    sim::ClusterNetwork network(cluster.topology);
    const sim::PlacedCollective placed(network, job.collective, job.workers, job.per_host, "test");
    placed.start(network, size, Instant{});
    return network.runs().run_until(Instant::never())->at.since_start();
}

}  // namespace

TEST_CASE("step: one bucket takes the compute time and the all-reduce", "[step]") {
    const SmallCluster cluster(4);
    const sim::StepJob job = cluster.job(4);
    const sim::JobSteps result = run_one_job(cluster, job);
    const Duration sending = alone(cluster, job, job.buckets[0].bytes);
    // A ring: 2 (n - 1)/n S/B, and 2 (n - 1) latencies, of which the network's rate is the least.
    sim::Routes routes(cluster.topology);
    const double bandwidth = routes.bandwidth(job.workers[0], job.workers[1]).raw();
    const double latency = to_seconds(routes.latency(job.workers[0], job.workers[1]));
    CHECK(to_seconds(sending) == Approx(1.5 * 100e6 / bandwidth + 6 * latency).epsilon(1e-6));
    REQUIRE(result.steps.size() == 3);
    for (const sim::StepRecord& step : result.steps) {
        CHECK(step.parts.compute == milliseconds(90));
        CHECK(step.parts.sending.raw() == Approx(sending.raw()).margin(2));
        CHECK(step.parts.straggler == Duration{});
        CHECK(step.parts.agreeing == Duration{});
        CHECK(step.parts.total() == step.end - step.begin);
    }
}

TEST_CASE("step: buckets in order follow the recurrence of overlapped sending", "[step]") {
    // start_i = max(ready_i, end_(i-1)); the step ends with the last bucket.
    const SmallCluster cluster(4);
    sim::StepJob job = cluster.job(4);
    job.buckets = {{"c", bytes(30'000'000), 0.3},
                   {"b", bytes(20'000'000), 0.35},
                   {"a", bytes(4'000'000), 1.0}};
    const sim::JobSteps result = run_one_job(cluster, job);
    Duration end;
    for (const sim::GradientBucket& bucket : job.buckets) {
        const Duration ready = milliseconds(30) + seconds(0.060 * bucket.ready);
        end = std::max(ready, end) + alone(cluster, job, bucket.bytes);
    }
    CHECK((result.steps[0].end - result.steps[0].begin).raw() == Approx(end.raw()).margin(10));
    CHECK(result.steps[0].parts.sending.raw() == Approx((end - milliseconds(90)).raw()).margin(10));
}

TEST_CASE("step: with nothing to send, or one worker, only the input can hold it up", "[step]") {
    const SmallCluster cluster(2);
    sim::StepJob job = cluster.job(1);
    job.steps = 20;
    CHECK(run_one_job(cluster, job).steps.back().end == Instant::at(20 * milliseconds(90)));
    job.input.samples_per_second = 32 / 0.1;  // a batch each 100 ms
    const sim::JobSteps starved = run_one_job(cluster, job);
    for (std::size_t i = 1; i < starved.steps.size(); ++i) {
        CHECK(starved.steps[i].end - starved.steps[i].begin == milliseconds(100));
        CHECK(starved.steps[i].parts.input == milliseconds(10));
    }
    job.input.samples_per_second = 32 / 0.08;
    CHECK(run_one_job(cluster, job).steps.back().parts.input == Duration{});
}

TEST_CASE("step: accumulation computes more and sends once", "[step]") {
    const SmallCluster cluster(4);
    sim::StepJob job = cluster.job(4);
    job.steps = 1;
    const sim::StepParts once = run_one_job(cluster, job).steps[0].parts;
    job.accumulation = 4;
    const sim::StepParts four = run_one_job(cluster, job).steps[0].parts;
    CHECK(four.compute == 4 * once.compute);
    CHECK(four.sending == once.sending);
    CHECK(job.samples_per_step() == 4 * 4 * 32);
}

TEST_CASE("step: the parts add up whatever the rules", "[step]") {
    const SmallCluster cluster(6);
    const auto launch =
        GENERATE(sim::LaunchKind::in_order, sim::LaunchKind::by_name, sim::LaunchKind::coordinated);
    const auto kind = GENERATE(sim::BucketKind::one, sim::BucketKind::tensors,
                               sim::BucketKind::filled, sim::BucketKind::chunks);
    sim::StepJob job = cluster.job(6);
    sim::BucketRule rule;
    rule.kind = kind;
    job.buckets = sim::gradient_buckets(sim::model_named("resnet50", "test"), rule, 4, "test");
    job.launch.kind = launch;
    job.stragglers = {0.1, 0.2, 0.1};
    job.input.samples_per_second = 900;
    job.steps = 5;
    const sim::JobSteps result = run_one_job(cluster, job, {7, 2});
    Instant begin;
    for (const sim::StepRecord& step : result.steps) {
        CHECK(step.begin == begin);
        CHECK(step.parts.total() == step.end - step.begin);
        CHECK(step.parts.straggler > Duration{});
        begin = step.end;
    }
    CHECK(result.steps[1].sent.size() >= 1);
    CHECK(result.steps[2].sent.empty());
    Bytes sent;
    for (const sim::SentMessage& message : result.steps[0].sent) sent += message.bytes;
    CHECK(sent == sim::model_named("resnet50", "test").gradient_bytes());
    // The same seed, the same steps.
    CHECK(run_one_job(cluster, job, {7, 2}).steps.back().end == result.steps.back().end);
    CHECK(run_one_job(cluster, job, {8, 2}).steps.back().end != result.steps.back().end);
}

TEST_CASE("step: a cycle shorter than a negotiation ends all the same", "[step]") {
    const SmallCluster cluster(6);
    sim::StepJob job = cluster.job(6);
    sim::BucketRule rule;
    rule.kind = sim::BucketKind::tensors;
    job.buckets = sim::gradient_buckets(sim::model_named("resnet50", "test"), rule, 4, "test");
    job.launch.kind = sim::LaunchKind::coordinated;
    job.launch.cycle = GENERATE(Duration{}, nanoseconds(10'000));
    const sim::JobSteps result = run_one_job(cluster, job);
    REQUIRE(result.steps.size() == 3);
    // The last tensor is ready at the end of the pass, and must be agreed on.
    const Duration least = sim::negotiation_time(job.launch, {6, {}, 0}, 1, true);
    CHECK(result.steps.back().parts.agreeing + result.steps.back().parts.sending >= least);
}

TEST_CASE("step: two jobs that share links are slower than one, and so is one with cross traffic",
          "[step]") {
    const SmallCluster cluster(4);
    const sim::StepJob job = cluster.job(4);
    sim::StepJob other = job;
    other.name = "other";
    const Duration alone_one = run_one_job(cluster, job).steps[0].parts.sending;
    const std::vector<sim::StepJob> both = {job, other};
    const auto results = sim::run_steps(cluster.topology, both, {}, {});
    CHECK(results[0].steps[0].parts.sending.raw() == Approx(2 * alone_one.raw()).epsilon(0.01));
    CHECK(results[1].steps[0].parts.sending == results[0].steps[0].parts.sending);
    const std::vector<sim::CrossTraffic> traffic = {{cluster.workers[0], cluster.workers[1], 1}};
    const auto crossed = sim::run_steps(cluster.topology, std::span(&job, 1), traffic, {});
    CHECK(crossed[0].steps[0].parts.sending.raw() == Approx(2 * alone_one.raw()).epsilon(0.01));
}

TEST_CASE("step: jobs that go on until all are done share their links to the end", "[step]") {
    const SmallCluster cluster(4);
    sim::StepJob slow = cluster.job(4);
    slow.name = "slow";
    slow.steps = 30;
    sim::StepJob fast = cluster.job(4);
    fast.compute.assign(4, milliseconds(20));
    const std::vector<sim::StepJob> both = {slow, fast};
    sim::StepOptions options;
    const auto ending = sim::run_steps(cluster.topology, both, {}, options);
    options.until_all_are_done = true;
    const auto sharing = sim::run_steps(cluster.topology, both, {}, options);
    const Duration alone_one = run_one_job(cluster, slow).steps[0].end.since_start();
    const auto mean = [](const sim::JobSteps& job) {
        return job.steps.back().end.since_start().raw() / std::ssize(job.steps);
    };
    REQUIRE(ending[0].steps.size() == 30);
    REQUIRE(sharing[0].steps.size() == 30);
    CHECK(ending[0].steps.back().end - ending[0].steps.back().begin == alone_one);
    CHECK(sharing[0].steps.back().end - sharing[0].steps.back().begin > alone_one);
    CHECK(mean(ending[0]) < mean(sharing[0]));
    CHECK(ending[1].steps.size() == 3);
    // Whole steps only, and as many as there was time for.
    CHECK(sharing[1].steps.back().end <= sharing[0].steps.back().end);
    CHECK(sharing[1].steps.back().end + 2 * alone_one > sharing[0].steps.back().end);
    // Who asks for more of the fast one's steps gets no other result.
    std::vector<sim::StepJob> more = both;
    more[1].steps = 20;
    const auto again = sim::run_steps(cluster.topology, more, {}, options);
    CHECK(again[0].steps.back().end == sharing[0].steps.back().end);
    CHECK(again[1].steps.size() == sharing[1].steps.size());
}

TEST_CASE("step: going on until all are done has a bound, and the job that meets it is named",
          "[step]") {
    const SmallCluster cluster(4);
    sim::StepJob slow = cluster.job(4);
    slow.name = "slow";
    slow.compute.assign(4, minutes(10));
    slow.steps = 1;
    sim::StepJob quick = cluster.job(4);
    quick.name = "quick";
    quick.buckets.clear();
    quick.compute.assign(4, milliseconds(1));
    const std::vector<sim::StepJob> both = {slow, quick};
    sim::StepOptions options;
    options.until_all_are_done = true;
    CHECK_THROWS_WITH(sim::run_steps(cluster.topology, both, {}, options),
                      Catch::StartsWith("job quick: does 100000 steps more than it has to"));
    slow.compute.assign(4, seconds(10));
    const std::vector<sim::StepJob> nearer = {slow, quick};
    CHECK(sim::run_steps(cluster.topology, nearer, {}, options)[1].steps.size() > 1000);
}

TEST_CASE("step: stragglers cost the mean of the largest of n lognormal draws", "[step]") {
    // Exact quadrature: mean 1, coefficient of variation 0.2, the largest of 8 is 1.310 on average.
    const SmallCluster cluster(8);
    sim::StepJob job = cluster.job(8);
    job.buckets.clear();
    job.stragglers.independent = 0.2;
    job.steps = 20'000;
    const sim::JobSteps result = run_one_job(cluster, job);
    const double mean_s = to_seconds(result.steps.back().end.since_start()) / 20'000;
    CHECK(mean_s / 0.090 == Approx(1.310).epsilon(0.003));
}

TEST_CASE("step: a collective that cannot run is refused with the job's name", "[step]") {
    const SmallCluster cluster(4);
    sim::StepJob job = cluster.job(4);
    job.collective = policies::Collective::hierarchical;
    job.per_host = 3;
    CHECK_THROWS_AS(run_one_job(cluster, job), InputError);
}

TEST_CASE("step: a ring on NVLink is as many rings as NCCL finds there", "[step]") {
    // Bus bandwidth S/t x 2 (n - 1)/n at line rate, 25 GB/s a lane: six rings on all eight GPUs of
    // a DGX-1, four on the first four; five have no rings of NVLink only.
    const sim::Topology dgx = sim::build_cluster("dgx1_v100", 1);
    const auto bus_gb_per_s = [&](std::size_t count) {
        const std::vector<sim::DeviceId> all = dgx.workers();
        const auto gpus = std::span(all).first(count);
        sim::ClusterNetwork network(dgx);
        const auto host = static_cast<std::int32_t>(count);
        const sim::PlacedCollective placed(network, policies::Collective::ring, gpus, host, "test");
        placed.start(network, bytes(1'000'000'000), Instant{});
        const double time_s =
            to_seconds(network.runs().run_until(Instant::never())->at.since_start());
        return 2 * static_cast<double>(count - 1) / static_cast<double>(count) / time_s;
    };
    CHECK(bus_gb_per_s(8) == Approx(150).epsilon(0.01));
    CHECK(bus_gb_per_s(4) == Approx(100).epsilon(0.01));
    CHECK(bus_gb_per_s(5) < 25);
}

TEST_CASE("step: rings through several machines are bound by the machines' NICs", "[step]") {
    const sim::Topology two = sim::build_cluster("dgx1_v100", 2);
    const std::vector<sim::DeviceId> gpus = two.workers();
    const auto rings = sim::nvlink_rings(two, gpus, 8);
    REQUIRE(rings);
    REQUIRE(rings->phases.size() == 1);
    CHECK(rings->name == "6 rings");
    CHECK(rings->phases[0].edges.size() == 6 * 16);
    CHECK(rings->phases[0].rounds == 30);
    std::vector<std::int32_t> sent(16);
    std::int32_t between = 0;
    for (const sim::TransferGraph::Edge& edge : rings->phases[0].edges) {
        ++sent[static_cast<std::size_t>(edge.from)];
        between += edge.from / 8 != edge.to / 8 ? 1 : 0;
    }
    for (const std::int32_t edges : sent) CHECK(edges == 6);
    CHECK(between == 12);
    CHECK_FALSE(sim::nvlink_rings(two, std::span(gpus).first(12), 8));
}

TEST_CASE("step: rings over NVLink change rails over it, and lose nothing by them", "[step]") {
    for (const std::string preset : {"dgx_a100", "dgx_h100", "mi300x_8"}) {
        CAPTURE(preset);
        std::vector<double> times_s;
        for (const auto kind : {sim::FabricKind::single_switch, sim::FabricKind::rails}) {
            sim::FabricSpec fabric;
            fabric.kind = kind;
            const sim::Topology machines = sim::build_cluster(preset, 5, fabric);
            sim::ClusterNetwork network(machines);
            const std::vector<sim::DeviceId> gpus = machines.workers();
            const sim::PlacedCollective placed(network, policies::Collective::ring, gpus, 8, "t");
            placed.start(network, bytes(2'000'000'000), Instant{});
            times_s.push_back(
                to_seconds(network.runs().run_until(Instant::never())->at.since_start()));
        }
        CHECK(times_s[1] >= times_s[0]);  // by the latency of NVLink
        CHECK(times_s[1] < 1.01 * times_s[0]);
    }
}

TEST_CASE("collective choice: the double tree is tried as long as it can be played", "[step]") {
    const auto first_of = [](std::uint32_t machines) {
        const sim::Topology racks = sim::build_cluster("g4dn.metal", machines);
        const sim::GradientBucket bucket{"all", bytes(100'000'000)};
        return sim::price_collectives(racks, racks.workers(), 8, std::span(&bucket, 1), "test")[0]
            .algorithm;
    };
    CHECK(first_of(32) == policies::Collective::double_binary_tree);
    CHECK(first_of(129) != policies::Collective::double_binary_tree);  // more than 1024 workers
}

TEST_CASE("collective choice: cheapest first, and the reason names the others", "[step]") {
    const SmallCluster cluster(4);
    const sim::StepJob job = cluster.job(4);
    const auto priced =
        sim::price_collectives(cluster.topology, job.workers, 1, job.buckets, "test");
    REQUIRE(priced.size() >= 5);
    for (std::size_t i = 1; i < priced.size(); ++i) CHECK(priced[i - 1].time <= priced[i].time);
    CHECK_THAT(sim::reason_for(priced), Catch::StartsWith(priced[0].name + " ") &&
                                            Catch::Contains("ms alone; " + priced[1].name));
}

TEST_CASE("perfetto trace: a row a worker and a link, details of the first steps only", "[step]") {
    const SmallCluster cluster(4);
    const sim::StepJob job = cluster.job(4);
    const std::vector<sim::JobSteps> results = {run_one_job(cluster, job, {0, 2})};
    const std::string text = sim::perfetto_trace(cluster.topology, std::span(&job, 1), results);
    const auto count = [&](std::string_view what) {
        std::size_t found = 0;
        for (std::size_t at = text.find(what); at != std::string::npos;
             at = text.find(what, at + 1)) {
            ++found;
        }
        return found;
    };
    CHECK(count("\"forward\"") == 4 * 2);
    CHECK(count("\"ph\":\"b\"") == 2);
    CHECK(count("\"thread_name\"") == 4 + results[0].links.size());
    CHECK(count("\"1 collective\"") == results[0].links.size() * 2);
}

}  // namespace ukemi
