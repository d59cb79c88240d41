// published_clouds.cpp — KungFu and Horovod on Azure's K80 machines (OSDI 2020 artifact), and the
// throughputs with which the autoscaling talk begins.
//
// One K80 computes as Gavel recorded, times a factor: one number, fitted to what KungFu's artifact
// gives four K80 without monitoring (30.5 images/s each at batch 8).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/published_step_parts.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/step/monitor_time.hpp"
#include "sim/step/placed_collective.hpp"

namespace published {
namespace {

using namespace ukemi;
using namespace ukemi::policies;
using namespace ukemi::sim;

CostCurve kungfu_k80() {
    const CostCurve gavel = curve_of("resnet50", "k80");
    const double factor = 8 / 30.5 / gavel.step_seconds(8);
    std::vector<CostCurve::Point> points;
    for (const std::int64_t batch : {8, 16, 32}) {
        points.push_back({batch, factor * gavel.step_seconds(batch)});
    }
    return CostCurve::table(points, "bench");
}

Row row(const Values& values, const char* id, const std::string& name, double simulated,
        const char* role, std::optional<double> naive = std::nullopt) {
    const auto found = values.find(id);
    return {name, found == values.end() ? 0 : found->second, simulated, role, naive};
}

// ---- 32 machines ------------------------------------------------------------------------------

void compare_32(const Values& values, double horovod_share, Tables& tables) {
    const Topology cluster = build_cluster("NC6", 32);
    const CostCurve curve = kungfu_k80();
    StepJob kungfu = job_of(cluster, "resnet50", curve, 32, BucketKind::chunks);
    kungfu.launch.kind = LaunchKind::by_name;
    kungfu.collective = Collective::multi_binary_tree_star;
    StepJob horovod = job_of(cluster, "resnet50", curve, 32, BucketKind::tensors);
    horovod.launch.kind = LaunchKind::coordinated;
    set_old_horovod(horovod.launch);
    // The same bytes a second as there: without NCCL, Horovod sums in host memory.
    Topology slow = cluster;
    slow.derate(LinkKind::pcie, horovod_share);
    slow.derate(LinkKind::network, std::min(1.0, horovod_share * 100 / 10));  // 100 Gbit/s there
    const double alone = 32 / curve.step_seconds(32);
    constexpr const char* horovod_id = "kungfu.osdi.scal.horovod.resnet50.32vm";
    tables.add(
        "32 machines of one K80 (Azure NC6), batch 32: images/s of each; line rates and "
        "latencies are input, one factor of the compute time is fitted to another row",
        "32 K80",
        {row(values, "kungfu.osdi.monitor.none", "4 K80, batch 8", 8 / curve.step_seconds(8),
             "fitted"),
         row(values, "kungfu.osdi.scal.kungfu.resnet50.32vm", "KungFu",
             32 / step_seconds(cluster, kungfu), "predicted", alone),
         row(values, horovod_id, "Horovod 0.16.1, line rates", 32 / step_seconds(cluster, horovod),
             "predicted", alone),
         row(values, horovod_id, "Horovod, bytes/s as on two DGX-1",
             32 / step_seconds(slow, horovod), "predicted", alone)},
        true, "one K80 alone");
}

// ---- monitoring ---------------------------------------------------------------------------------

// KungFu's Fig. 8: one number is fitted without monitoring, and what a monitor costs follows from
// its operations and from what it sends.
void compare_monitors(const Values& values, Tables& tables) {
    const Topology machine = build_cluster("NC24", 1);
    StepJob job = job_of(machine, "resnet50", kungfu_k80(), 8, BucketKind::chunks);
    job.launch.kind = LaunchKind::by_name;
    const double plain = step_seconds(machine, job);
    const auto with = [&](GradientMonitor monitor) {
        StepJob monitored = job;
        monitored.monitoring = monitor_time(monitor, gpu_named("k80", "bench"),
                                            model_named("resnet50", "bench"), "bench");
        if (monitor == GradientMonitor::gradient_variance) add_squares(monitored.buckets);
        return step_seconds(machine, monitored);
    };
    const double noise_scale = with(GradientMonitor::noise_scale);
    const double monitored = with(GradientMonitor::gradient_variance);
    const auto relative = [&](const char* id, const std::string& name, double step_s) {
        const auto of = [&](const char* key) {
            const auto found = values.find(key);
            return found == values.end() ? 0 : found->second;
        };
        const double none = of("kungfu.osdi.monitor.none");
        return Row{name, none > 0 ? of(id) / none : 0, plain / step_s, "predicted", 1.0};
    };
    tables.add(
        "monitoring on one machine with four K80, batch 8: throughput as a share of that without",
        "monitors",
        {relative("kungfu.osdi.monitor.gns_interval1", "noise scale, every step", noise_scale),
         relative("kungfu.osdi.monitor.variance_interval1", "variance, every step", monitored),
         relative("kungfu.osdi.monitor.variance_interval8", "variance, every 8th step",
                  (7 * plain + monitored) / 8)},
        true, "monitoring costs nothing");
}

// ---- interference -----------------------------------------------------------------------------

// Eight machines sum over a star; two more only send to the first one's NIC. The star's root is the
// first worker, or the second machine's after the switch.
double interfered_rate(double share, std::int64_t flows, bool switched) {
    Topology cluster = build_cluster("NC6", 10);
    cluster.derate(LinkKind::network, share);
    StepJob job = job_of(cluster, "resnet50", kungfu_k80(), 32, BucketKind::chunks);
    job.launch.kind = LaunchKind::by_name;
    job.collective = Collective::star;
    const DeviceId victim = job.workers[0];
    const DeviceId stranger = job.workers[8];
    job.workers.resize(8);
    job.compute.resize(8);
    if (switched) std::swap(job.workers[0], job.workers[1]);
    std::vector<CrossTraffic> traffic;
    if (flows > 0) traffic.push_back({stranger, victim, flows});
    return 32 / step_seconds(cluster, job, traffic);
}

void compare_interference(Tables& tables) {
    // Of the trace in the artifact's README: iteration 30, 31 and 35.
    constexpr double before = 28.6;
    constexpr double during = 19.2;
    constexpr double after = 26.9;
    const double share = fit_share(
        [&](double one) { return square_of_log(interfered_rate(one, 0, false) / before); });
    std::int64_t flows = 1;
    double least = square_of_log(interfered_rate(share, 1, false) / during);
    for (std::int64_t more = 2; more <= 4096; more = more * 5 / 4 + 1) {
        const double now = square_of_log(interfered_rate(share, more, false) / during);
        if (now >= least) continue;
        least = now;
        flows = more;
    }
    tables.add(
        fmt::format(
            "interference with a star of 8 K80 machines: images/s of each; NICs reach "
            "{:.3f} of 10 Gbit/s (fitted), {} flows into the root's machine (fitted, although "
            "the artifact states its traffic)",
            share, flows),
        "interference",
        {{"before", before, interfered_rate(share, 0, false), "fitted"},
         {"traffic into the root", during, interfered_rate(share, flows, false), "fitted"},
         {"the root moved to the second machine", after, interfered_rate(share, flows, true),
          "predicted", before}},
        true, "the move undoes what the traffic does");
}

// ---- the autoscaling talk ---------------------------------------------------------------------

// What the talk does not say is taken from the same authors' experiments: ResNet-50, a global batch
// of 8192, machines of eight V100 with 16 Gbit/s.
double talk_rate(int gpus, double seconds_an_image, double share) {
    FabricSpec fabric;
    fabric.bandwidth = gigabits_per_second(16);
    fabric.latency = nanoseconds(50'000);
    Topology cluster = build_cluster("dgx1_v100", static_cast<std::uint32_t>(gpus / 8), fabric);
    derate_all(cluster, share);
    const CostCurve curve = CostCurve::affine(0, seconds_an_image, "bench");
    StepJob job = job_of(cluster, "resnet50", curve, 8192 / gpus, BucketKind::tensors);
    job.launch.kind = LaunchKind::coordinated;
    return 8192 / step_seconds(cluster, job);
}

void compare_talk(const Values& values, Tables& tables) {
    double seconds_an_image = 16 / 2200.0;
    double share = 1;
    for (int round = 0; round < 3; ++round) {
        share = fit_share(
            [&](double one) { return square_of_log(talk_rate(32, seconds_an_image, one) / 4000); });
        seconds_an_image *= talk_rate(16, seconds_an_image, share) / 2200;
    }
    constexpr double doubled = 4000 / 2200.0;  // of twice the GPUs
    std::vector<Row> rows;
    for (const int gpus : {16, 32, 64}) {
        rows.push_back(row(values, fmt::format("or20.slide2.{}gpus", gpus).c_str(),
                           fmt::format("{} GPUs", gpus), talk_rate(gpus, seconds_an_image, share),
                           gpus < 64 ? "fitted" : "predicted",
                           2200 * std::pow(doubled, gpus / 32)));
    }
    tables.add(fmt::format("the autoscaling talk: images/s; {:.2f} ms an image and {:.3f} of the "
                           "line rates are fitted",
                           1e3 * seconds_an_image, share),
               "autoscaling talk", rows, true, "twice the GPUs bring what they brought before");
}

}  // namespace

void compare_clouds(const Values& values, double horovod_share, Tables& tables) {
    compare_32(values, horovod_share, tables);
    compare_monitors(values, tables);
    compare_interference(tables);
    compare_talk(values, tables);
}

}  // namespace published
