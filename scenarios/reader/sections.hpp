// sections.hpp — the parts of a scenario file, each read by its own function.
//
// Every quantity has a largest value that a real job could need, so that no sum of them overflows:
// a slip of the unit is a complaint with a path, and never a broken invariant an hour later.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "base/bounded_duration.hpp"
#include "policies/codec_text.hpp"
#include "scenarios/reader/scenario.hpp"

namespace ukemi::sim {
struct GroupMarket;
struct RealTask;
}  // namespace ukemi::sim

namespace ukemi::scenarios {

inline constexpr std::int64_t instances_most = 100'000;
inline constexpr Duration pause_longest = days(30);    // restart, notice, checkpoint and their like
inline constexpr Duration step_longest = days(1);      // computing, encoding or exchange of a step
inline constexpr Duration run_longest = days(3660);    // deadline, length of a generated market
inline constexpr Duration work_longest = days(36600);  // of the work on the fewest instances

// A key of a table of `what`, such as "8" in {"8": "41 s"}: a number from 1 to `most`.
std::int64_t number_of(const ConfigReader& table, const std::string& key, std::int64_t most,
                       std::string_view what);
// {"1": "0 ms", "8": "12 ms"}, by the size of the group.
policies::TimeBySize read_time_table(ConfigReader& config, std::string_view key, Duration longest);
// That, or one time for any size, such as "12 ms".
policies::TimeBySize read_times_by_size(ConfigReader& config, std::string_view key,
                                        Duration longest);

// What the job is, and what a step of it is worth: the four sections "cluster", "job", "training"
// and "learning".
void read_work(ConfigReader& root, const std::filesystem::path& folder, Scenario& scenario);
void read_job(ConfigReader config, Scenario& scenario);  // after the cluster
// "step_time" of the job: how long a step takes, by batch. False if there is none.
bool read_step_time(ConfigReader& job_config, bool by_time, Scenario& scenario);
// "links" of the job: what is between its hosts. After what a step takes, and the cluster.
void read_links(ConfigReader& job_config, Scenario& scenario);
// "pipelines" of the job, instead of its throughput. False if there are none.
bool read_pipelines(ConfigReader& job_config, bool by_time, sim::JobSpec& job);
void check_pipelines(const ConfigReader& job_config, const sim::JobSpec& job);  // once all is read
// "transition" of the job: what changes of the group cost, if there is more to say of it than
// "restart" and "resize".
void read_transition(ConfigReader& job_config, std::optional<Bytes> model_size, sim::JobSpec& job);
// The key "transition" alone, of a job that shares a cluster or of all of them.
std::optional<sim::TransitionCosts> read_transition_costs(ConfigReader& section,
                                                          std::optional<Bytes> model_size);
// What the profile says of it, once the cluster is known.
void expect_transitions(sim::JobSpec& job);
// Where a GPU is a worker: InputError at this key if those of simulated steps are whole machines of
// several.
void expect_steps_of_single_gpus(const ConfigReader& section, std::string_view key,
                                 const Scenario& scenario);
// The section "learning", if there is one: what a step is worth. After the job, the cluster and
// "training".
void read_learning(ConfigReader& root, Scenario& scenario);
std::shared_ptr<const sim::LearningModel> read_critical_regimes(ConfigReader& learning,
                                                                const sim::JobSpec& job);
std::shared_ptr<const sim::LearningModel> read_real_gradients(ConfigReader& root,
                                                              ConfigReader& learning,
                                                              Scenario& scenario);
// What the ways in which that task's learners can be kept together cost on "network", and which of
// them policies may turn to.
void read_real_costs(ConfigReader& learning, const sim::RealTask& task, Scenario& scenario);
void read_cluster(ConfigReader config, Scenario& scenario);
// "throughput", by number of instances: a speed where the work is given as time, else a rate.
std::vector<policies::ThroughputPoint> read_throughput(ConfigReader& config, bool by_time,
                                                       const policies::Plan& plan);
// "predictor": what policies ask how long things will take. After the job's profile.
void read_predictor(ConfigReader& root, Scenario& scenario);
// Of the section "market": notice, billing, bids and whatever else the provider makes the rules of.
void read_market_rules(ConfigReader& market, Scenario& scenario);
void read_market(ConfigReader config, const std::filesystem::path& folder, Scenario& scenario);
// Of a group of machines that jobs share: capacity and prices by the same keys, a notice, and no
// other rules. `seed` is of a generated market.
sim::GroupMarket read_group_market(ConfigReader config, const std::filesystem::path& file,
                                   std::uint64_t seed, std::int32_t machines);
// The section "training", if there is one: what live workers train, and how the first Plan does it.
void read_training(ConfigReader& root, const std::filesystem::path& folder, Scenario& scenario);
// The first Plan's codec at "codec", and whether error feedback may be kept. After the
// synchronisation.
void read_plan_codec(ConfigReader& training, policies::Plan& plan, bool& error_feedback);
// At "step_time": what each codec makes of a step's exchange ("gradient", "link", "codecs").
void read_codec_times(ConfigReader& step_time, policies::StepTime& time);
// The same beside "simulated": of "codecs" only names and relative errors; `simulate` says the
// rest.
using SimulatedCodec = std::function<policies::CodecTime(const policies::CodecChoice& choice)>;
void read_simulated_codecs(ConfigReader& step_time, policies::StepTime& time,
                           const SimulatedCodec& simulate);
// What only job and cluster together can say: how long the work takes on the fewest instances.
void check_work(const ConfigReader& root, const sim::JobSpec& job);

}  // namespace ukemi::scenarios
