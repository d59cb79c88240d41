// published_step_parts.hpp — what the tables of published steps share: rows by id, one step of one
// job, and a search for the share of the line rates that a system reaches.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include "bench/published_rows.hpp"
#include "sim/cluster/cost_curve.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/step/step_run.hpp"

namespace published {

using Values = std::map<std::string, double>;  // published values by id
Values published_values();                     // empty if they are not beside the checkout

// The last of three steps: caches are warm.
double step_seconds(const ukemi::sim::Topology& topology, ukemi::sim::StepJob job,
                    std::span<const ukemi::sim::CrossTraffic> cross_traffic = {});

// The share of the line rates at which the sum of squared logarithms of errors is least.
double fit_share(const std::function<double(double share)>& squares);
double square_of_log(double ratio);
void derate_all(ukemi::sim::Topology& topology, double share);

ukemi::sim::StepJob job_of(const ukemi::sim::Topology& topology, const char* model,
                           const ukemi::sim::CostCurve& curve, std::int64_t batch,
                           ukemi::sim::BucketKind kind);
ukemi::sim::CostCurve curve_of(const char* model, const char* gpu);
// As Horovod's were up to 0.16.1, as remembered.
void set_old_horovod(ukemi::sim::LaunchRule& launch);

// A table of its own file. `horovod_share` is what its software reached of the line rates of two
// DGX-1.
void compare_clouds(const Values& values, double horovod_share, Tables& tables);

}  // namespace published
