// read_real_learning.cpp — "learning" with true gradients: the data and the model are those of the
// section "training"; how its virtual workers keep together, and what that costs on a network.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "scenarios/sections.hpp"
#include "sim/learning/real/real_gradients.hpp"
#include "sim/learning/real/rules.hpp"

namespace ukemi {

namespace {

std::vector<std::string_view> rule_names() {
    std::vector<std::string_view> names;
    for (const SynchronisationRule& rule : synchronisation_rules()) names.push_back(rule.name);
    return names;
}

std::vector<std::string_view> names_of_codecs() {
    std::vector<std::string_view> names;
    for (const CodecEntry& entry : all_codecs()) names.push_back(entry.name);
    return names;
}

std::string_view rule_of_plan(Synchronisation synchronisation) {
    const auto name = synchronisation_names()[static_cast<std::size_t>(synchronisation)];
    return find_synchronisation_rule(name) != nullptr ? name : "s_sgd";
}

void read_codec(ConfigReader& learning, SynchronisationSettings& settings) {
    auto config = learning.object_if_present("codec");
    if (!config) return;
    settings.codec = config->one_of("name", names_of_codecs());
    const CodecEntry& entry = *find_codec(settings.codec);
    if (!entry.level.empty()) {
        settings.codec_level =
            config->number("level", entry.level_min, entry.level_max, entry.level_default);
        if (entry.whole_levels && settings.codec_level != std::floor(settings.codec_level)) {
            config->fail("level",
                         fmt::format("expected a whole number, found {}", settings.codec_level));
        }
    }
    settings.error_feedback = config->flag("error_feedback", false);
    if (settings.error_feedback && !entry.contracts) {
        config->fail("error_feedback",
                     fmt::format("does not converge with {}, which is no contraction", entry.name));
    }
    config->finish();
    const SynchronisationRule& rule = *find_synchronisation_rule(settings.rule);
    if (settings.codec != "none" && !rule.codecs) {
        learning.fail("codec", fmt::format("goes with s_sgd, whose gradients travel; {} sends {}",
                                           rule.name, rule.sends));
    }
}

SynchronisationSettings read_synchronisation(ConfigReader& learning, const Scenario& scenario) {
    const OptimiserSettings& optimiser = scenario.training->optimiser;
    const Synchronisation of_plan = scenario.job.plan.synchronisation;
    SynchronisationSettings settings;
    settings.rule = rule_of_plan(of_plan);
    if (of_plan == Synchronisation::synchronous_averaging) {
        settings.averaging_rate = optimiser.averaging_rate;
        settings.averaging_momentum = optimiser.averaging_momentum;
    }
    auto config = learning.object_if_present("synchronisation");
    if (config) {
        constexpr std::int64_t steps_most = 1'000'000'000;
        settings.rule = config->one_of("rule", rule_names(), settings.rule);
        settings.averaging_rate = config->number("averaging_rate", 0, 1, settings.averaging_rate);
        settings.averaging_momentum =
            config->number("averaging_momentum", 0, 0.9999, settings.averaging_momentum);
        settings.period = config->integer("period", 1, steps_most, 1);
        settings.uniform_peers = config->flag("uniform_peers", false);
        settings.change_step = config->integer("change_step", 0, steps_most, 0);
        if (config->has("clock_lead_max")) {
            settings.clock_lead_max = config->integer("clock_lead_max", 0, steps_most);
        }
        settings.by_staleness = config->flag("by_staleness", false);
        settings.backups =
            static_cast<std::int32_t>(config->integer("backups", 0, instances_most, 0));
        settings.straggling = config->number("straggling", 0, 4, 0);
        config->finish();
        const SynchronisationRule& rule = *find_synchronisation_rule(settings.rule);
        if (!rule.momentum && optimiser.momentum > 0) {
            config->fail("rule", fmt::format("{} applies gradients as they come: leave "
                                             "\"momentum\" at /training out",
                                             rule.name));
        }
    }
    read_codec(learning, settings);
    return settings;
}

struct CodecBytes {
    std::int64_t bytes = 0;  // 0: none
    bool gathers = false;
};

CodecBytes codec_bytes(const RealTask& task, int ranks) {
    const SynchronisationSettings& settings = task.synchronisation;
    if (settings.codec == "none" || ranks < 2) return {};
    CodecBytes all;
    for (const TensorShape& shape : tensor_shapes(*task.model)) {
        const CodecLayout layout = codec_layout(settings.codec, settings.codec_level, shape, ranks);
        all.bytes += layout.message_bytes();
        all.gathers = all.gathers || !layout.reduces();
    }
    return all;
}

// The synchronisation that a step takes, by workers: the exchange on the network, and at the first
// Plan's batch the wait for the slowest learner.
void read_costs(ConfigReader& learning, const RealTask& task, JobSpec& job) {
    StepTime& time = *job.profile.step_time;
    const SynchronisationSettings& settings = task.synchronisation;
    auto config = learning.object_if_present("network");
    if (config && !time.synchronisation.empty()) {
        learning.fail("network",
                      "stands beside \"synchronisation\" at /job/step_time: expected "
                      "one of them");
    }
    if (!time.groups.empty() && config) {
        learning.fail("network", "stands beside \"simulated\" at /job/step_time, which has one");
    }
    const bool measured = !time.groups.empty() || !time.synchronisation.empty();
    if (measured && settings.straggling > 0) {
        learning.fail("synchronisation",
                      "\"straggling\" does not go with the times of whole "
                      "groups at /job/step_time, which have theirs");
    }
    const SynchronisationRule& rule = *find_synchronisation_rule(settings.rule);
    double bytes_per_s = 0;
    Duration latency;
    std::int64_t model_bytes = 4 * static_cast<std::int64_t>(task.model->parameter_count());
    double scale = 1;
    if (config) {
        bytes_per_s = config->bandwidth("bandwidth").raw();
        if (!(bytes_per_s > 0)) config->fail("bandwidth", "expected a bandwidth above zero");
        latency = bounded_duration(*config, "latency", Duration{}, whole_seconds(60), Duration{});
        if (config->has("model_size")) {
            const std::int64_t wanted = config->bytes("model_size").raw();
            constexpr std::int64_t size_most = 1'000'000'000'000'000;
            if (wanted < 1 || wanted > size_most) {
                config->fail("model_size", "expected from 1 byte to 1000 TB");
            }
            scale = static_cast<double>(wanted) / static_cast<double>(model_bytes);
            model_bytes = wanted;
        }
        config->finish();
    }
    StepTime compute = time;
    compute.synchronisation.clear();
    std::vector<SynchronisationTime> table;
    for (std::int32_t n = 1;; n = std::min(n < 64 ? n + 1 : 2 * n, job.instances_max)) {
        const CodecBytes coded = codec_bytes(task, n);
        const auto sent = static_cast<std::int64_t>(scale * static_cast<double>(coded.bytes));
        const ExchangeCost cost =
            exchange_cost(rule, settings, n, model_bytes, sent, coded.gathers);
        Duration synchronisation = config ? exchange_time(cost, latency, bytes_per_s) : Duration{};
        const std::int64_t per_mille =
            straggling_per_mille(rule, settings, n * job.plan.learners_per_gpu) - 1000;
        const Duration computed = step_of(compute, job.plan, n);
        synchronisation += Duration::of(
            static_cast<std::int64_t>(static_cast<Int128>(computed.raw()) * per_mille / 1000));
        table.push_back({n, synchronisation});
        if (n == job.instances_max) break;
    }
    if (time.synchronisation.empty()) {
        time.synchronisation = std::move(table);
        return;
    }
    for (SynchronisationTime& point : time.synchronisation) {  // measured, of one exchange
        if (rule.periodic) point.time = Duration::of(point.time.raw() / settings.period);
    }
}

// What a machine can train in a sitting, and hold in memory.
void check_sizes(const ConfigReader& root, const ConfigReader& learning, const JobSpec& job) {
    constexpr std::int64_t samples_most = 100'000'000;
    if (job.samples_total > samples_most) {
        root.fail("job", fmt::format("expected at most {} samples that are really trained with, "
                                     "found {}",
                                     samples_most, job.samples_total));
    }
    constexpr std::int64_t learners_most = 1024;
    const std::int64_t learners = std::int64_t{job.instances_max} * job.plan.learners_per_gpu;
    if (learners > learners_most) {
        learning.fail("learners_per_worker",
                      fmt::format("expected at most {} learners in all, found {} on {} workers",
                                  learners_most, learners, job.instances_max));
    }
}

}  // namespace

std::shared_ptr<const LearningModel> read_real_gradients(ConfigReader& root, ConfigReader& learning,
                                                         Scenario& scenario) {
    if (!scenario.training) {
        root.fail("learning",
                  "with real gradients needs the section \"training\": which data, "
                  "which model");
    }
    JobSpec& job = scenario.job;
    const bool rows = job.profile.step_time && !job.profile.step_time->codecs.empty();
    if (job.plan.codec != Codec::none || rows) {
        learning.fail("codec",
                      "is where true gradients have theirs: leave \"codec\" at /training "
                      "and \"codecs\" at /job/step_time out");
    }
    auto task = std::make_shared<RealTask>();
    const DataSet all = load_data(scenario.training->data);
    const double test_share = learning.number("test_share", 0.001, 0.999, 0.2);
    if (all.count < 2) root.fail("training", "expected at least two samples, one to test with");
    std::tie(task->training, task->test) = split_data(all, test_share);
    task->model = make_model(scenario.training->model, task->training);
    task->optimiser = scenario.training->optimiser;
    task->noise_smoothing = learning.number("noise_smoothing", 0, 0.99999, 0.99);
    job.plan.learners_per_gpu = static_cast<std::int32_t>(
        learning.integer("learners_per_worker", 1, 64, job.plan.learners_per_gpu));
    check_sizes(root, learning, job);
    task->synchronisation = read_synchronisation(learning, scenario);
    read_costs(learning, *task, job);
    const std::int64_t epoch = task->training.count;
    if (job.samples_per_epoch != job.samples_total && job.samples_per_epoch != epoch) {
        root.fail("job", fmt::format("has {} samples an epoch, and the data have {} to train with",
                                     job.samples_per_epoch, epoch));
    }
    job.samples_per_epoch = epoch;
    RealGradients settings;
    settings.samples = job.samples_total;
    constexpr std::int64_t samples_most = 1'000'000'000'000;
    settings.evaluate_every = learning.integer("evaluate_every", 1, samples_most, epoch);
    if (learning.has("target")) settings.target = learning.number("target", 0, 1);
    settings.task = std::move(task);
    return make_real_gradients(std::move(settings));
}

}  // namespace ukemi
