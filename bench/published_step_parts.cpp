// published_step_parts.cpp — shared by the tables of published steps.
#include "bench/published_step_parts.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/cluster/known_curves.hpp"
#include "sim/step/placed_collective.hpp"

namespace published {

using namespace ukemi;
using namespace ukemi::sim;

Values published_values() {
    std::ifstream file(shared("../reference/published/published_results.json"));
    Values values;
    if (!file) return values;
    const nlohmann::json document = nlohmann::json::parse(file);
    for (const auto& row : document.at("rows")) {
        if (row.at("value").is_number())
            values[row.at("id").get<std::string>()] = row.at("value").get<double>();
    }
    return values;
}

double step_seconds(const Topology& topology, StepJob job,
                    std::span<const CrossTraffic> cross_traffic) {
    job.steps = 3;
    const auto result = run_steps(topology, std::span(&job, 1), cross_traffic, {});
    const StepRecord& last = result.front().steps.back();
    return to_seconds(last.end - last.begin);
}

double fit_share(const std::function<double(double share)>& squares) {
    double best = 1;
    double least = squares(1);
    const auto look = [&](double from, double to, double ratio) {
        for (double share = from; share >= to; share /= ratio) {
            const double now = squares(share);
            if (now < least) {
                least = now;
                best = share;
            }
        }
    };
    look(1, 0.01, 1.25);  // everywhere: where sending is hidden, nothing changes
    look(std::min(1.0, best * 1.2), best / 1.2, 1.02);
    return best;
}

double square_of_log(double ratio) { return std::log(ratio) * std::log(ratio); }

void derate_all(Topology& topology, double share) {
    for (const LinkKind kind :
         {LinkKind::nvlink, LinkKind::pcie, LinkKind::socket, LinkKind::network}) {
        topology.derate(kind, share);
    }
}

StepJob job_of(const Topology& topology, const char* model, const CostCurve& curve,
               std::int64_t batch, BucketKind kind) {
    StepJob job;
    job.name = model;
    job.workers = topology.workers();
    job.compute.assign(job.workers.size(), curve.step_time(batch));
    job.batch = batch;
    BucketRule rule;
    rule.kind = kind;
    if (kind == BucketKind::chunks) rule.size = mebibytes(1);
    job.buckets = gradient_buckets(model_named(model, "bench"), rule, 4, "bench");
    job.per_host = workers_per_machine(topology, job.workers);
    return job;
}

CostCurve curve_of(const char* model, const char* gpu) {
    return curve_for(model_named(model, "bench"), gpu_named(gpu, "bench"), Precision::fp32, "bench")
        .curve;
}

void set_old_horovod(LaunchRule& launch) {
    launch.cycle = milliseconds(5);
    launch.fusion = mebibytes(64);
    launch.response_cache = false;
}

}  // namespace published
