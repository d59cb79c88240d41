// read_real_costs.cpp — what exchanges cost where gradients are real: by the Plan's synchronisation
// and codec, on an α-β network, with the wait for the slowest learner.
//
// The wait is that of the first Plan's batch and learners. A codec's bytes and operations are exact
// sums over the model's tensors, scaled with them to "model_size".
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/link_spec.hpp"
#include "policies/codec_text.hpp"
#include "scenarios/reader/sections.hpp"
#include "sim/learning/real/group_codecs.hpp"
#include "sim/learning/real/rules.hpp"

namespace ukemi::scenarios {

namespace {

struct Network {
    bool there = false;  // else exchanges take no time
    LinkSpec link;
    std::int64_t model_bytes = 0;
    double scale = 1;             // of what travels
    double operations_per_s = 0;  // of codecs; 0: they take no time
};

Network read_network(ConfigReader& learning, const sim::RealTask& task) {
    Network network;
    network.model_bytes = 4 * static_cast<std::int64_t>(task.model->parameter_count());
    auto config = learning.object_if_present("network");
    if (!config) return network;
    network.there = true;
    network.link = read_link(*config);
    if (config->has("model_size")) {
        const std::int64_t wanted = config->bytes("model_size").raw();
        constexpr std::int64_t size_most = 1'000'000'000'000'000;
        if (wanted < 1 || wanted > size_most) {
            config->fail("model_size", "expected from 1 byte to 1000 TB");
        }
        network.scale = static_cast<double>(wanted) / static_cast<double>(network.model_bytes);
        network.model_bytes = wanted;
    }
    if (config->has("codec_rate")) {
        network.operations_per_s = config->rate("codec_rate", "operations/s");
        constexpr double least = 1e6;  // slower, a step would take years
        if (network.operations_per_s < least) {
            config->fail("codec_rate", "expected at least 1e6 operations/s");
        }
    }
    config->finish();
    return network;
}

struct CodecCost {
    std::int64_t bytes = 0;  // of one rank's messages
    std::int64_t operations = 0;
    bool gathers = false;
};

CodecCost codec_cost(const sim::RealTask& task, policies::Codec codec, double level, int ranks) {
    CodecCost all;
    for (const kernels::TensorShape& shape : sim::tensor_shapes(*task.model)) {
        const kernels::CodecLayout layout =
            kernels::codec_layout(kernels::entry_of(codec).name, level, shape, ranks);
        all.bytes += layout.message_bytes();
        all.operations += layout.operations.encode + layout.operations.decode;
        all.gathers = all.gathers || !layout.reduces();
    }
    return all;
}

class Costs {
public:
    Costs(const sim::RealTask& task, const sim::JobSpec& job, const Network& network)
        : task_(task), job_(job), network_(network), compute_(*job.profile.step_time) {
        compute_.synchronisation.clear();
    }

    // By workers: the exchange on the network, and the wait for the slowest learner.
    policies::TimeBySize of(const sim::SynchronisationRule& rule,
                            const policies::Plan& plan) const {
        return by_size([&](std::int32_t n) { return exchange(rule, plan, n) + wait(rule, n); });
    }
    policies::CodecTime row(const policies::Plan& plan) const {
        const CodecCost cost = codec_cost(task_, plan.codec, plan.codec_level, job_.instances_max);
        policies::CodecTime row;
        row.codec = plan.codec;
        row.level = kernels::level_meant(plan.codec, plan.codec_level);
        row.usual_level = row.level == kernels::level_meant(plan.codec, 0);
        row.bytes = scaled(cost.bytes);
        row.encoding = by_size([&](std::int32_t n) {
            return seconds(encoding_s(codec_cost(task_, plan.codec, plan.codec_level, n)));
        });
        row.synchronisation = of(sim::rule_for(task_.synchronisation, plan.synchronisation), plan);
        return row;
    }

    // Before any is computed: where one would take longer than can be said.
    void expect_encoding(ConfigReader& learning, policies::Codec codec, double level) const {
        const double time_s = encoding_s(codec_cost(task_, codec, level, job_.instances_max));
        if (time_s <= to_seconds(policies::step_part_longest)) return;
        learning.fail("network",
                      fmt::format("{} would take {:.3g} s a step: expected at most {:.3g}",
                                  kernels::entry_of(codec).name, time_s,
                                  to_seconds(policies::step_part_longest)));
    }
    void expect_exchanges(ConfigReader& learning) const {
        if (!network_.there) return;
        // At most two models, or messages, go to or come from each of the others.
        const double exchange_s =
            2.0 * job_.instances_max *
            (2 * static_cast<double>(network_.model_bytes) / network_.link.bandwidth.raw() +
             to_seconds(network_.link.latency));
        if (exchange_s <= to_seconds(policies::step_part_longest)) return;
        learning.fail(
            "network",
            fmt::format("an exchange among {} workers may take {:.3g} s: expected at "
                        "most {:.3g}",
                        job_.instances_max, exchange_s, to_seconds(policies::step_part_longest)));
    }

private:
    policies::TimeBySize by_size(const std::function<Duration(std::int32_t workers)>& time) const {
        policies::TimeBySize table;
        const std::int32_t most = job_.instances_max;
        for (std::int32_t n = 1;; n = std::min(n < 64 ? n + 1 : 2 * n, most)) {
            table.push_back({n, time(n)});
            if (n == most) return table;
        }
    }
    std::int64_t scaled(std::int64_t bytes) const {
        return static_cast<std::int64_t>(network_.scale * static_cast<double>(bytes));
    }
    double encoding_s(const CodecCost& cost) const {
        if (network_.operations_per_s <= 0) return 0;
        return network_.scale * static_cast<double>(cost.operations) / network_.operations_per_s;
    }
    Duration exchange(const sim::SynchronisationRule& rule, const policies::Plan& plan,
                      std::int32_t n) const {
        if (!network_.there) return {};
        CodecCost coded;
        if (plan.codec != policies::Codec::none && n > 1) {
            coded = codec_cost(task_, plan.codec, plan.codec_level, n);
        }
        const sim::ExchangeCost cost =
            sim::exchange_cost(rule, task_.synchronisation, n, network_.model_bytes,
                               scaled(coded.bytes), coded.gathers);
        return sim::exchange_time(cost, network_.link.latency, network_.link.bandwidth.raw());
    }
    Duration wait(const sim::SynchronisationRule& rule, std::int32_t n) const {
        const std::int32_t learners = n * job_.plan.learners_per_gpu;
        const auto [place, is_new] = longest_.try_emplace({&rule, learners});
        if (is_new)
            place->second = sim::straggling_per_mille(rule, task_.synchronisation, learners);
        const std::int64_t per_mille = place->second - 1000;
        const Duration computed = policies::step_of(compute_, job_.plan, n);
        return Duration::of(
            static_cast<std::int64_t>(static_cast<Int128>(computed.raw()) * per_mille / 1000));
    }

    const sim::RealTask& task_;
    const sim::JobSpec& job_;
    const Network& network_;
    policies::StepTime compute_;
    // The slowest learner's time per mille of the mean one's: drawn, so kept.
    mutable std::map<std::pair<const sim::SynchronisationRule*, std::int32_t>, std::int64_t>
        longest_;
};

// Each kind that the optimiser's momentum goes with.
std::vector<policies::ExchangeTime> exchanges_of(const sim::RealTask& task,
                                                 const policies::Plan& first, const Costs& costs) {
    std::vector<policies::ExchangeTime> rows;
    for (std::size_t i = 0; i < policies::synchronisation_names().size(); ++i) {
        const auto kind = static_cast<policies::Synchronisation>(i);
        const sim::SynchronisationRule& rule = sim::rule_for(task.synchronisation, kind);
        if (!rule.momentum && task.optimiser.momentum > 0) continue;
        policies::Plan plain = first;
        plain.synchronisation = kind;
        plain.codec = policies::Codec::none;
        rows.push_back({kind, costs.of(rule, plain)});
    }
    return rows;
}

std::vector<policies::CodecTime> codecs_of(ConfigReader& learning, const sim::RealTask& task,
                                           const policies::Plan& first, const Costs& costs) {
    std::vector<policies::CodecChoice> choices;
    if (learning.has("codecs")) choices = policies::read_codec_choices(learning, "codecs", "");
    if (!choices.empty() &&
        !sim::rule_for(task.synchronisation, policies::Synchronisation::s_sgd).codecs) {
        learning.fail("codecs", fmt::format("go with s_sgd, and {} stands for it here",
                                            task.synchronisation.rule));
    }
    choices.push_back({first.codec, first.codec_level});
    std::erase_if(choices, [](const policies::CodecChoice& one) {
        return one.codec == policies::Codec::none;
    });
    if (!choices.empty() && first.learners_per_gpu > 1) {
        learning.fail("codecs", fmt::format("are priced for one learner a worker, here are {}",
                                            first.learners_per_gpu));
    }
    std::vector<policies::CodecTime> rows;
    for (const policies::CodecChoice& choice : choices) {
        const std::string refusal = kernels::codec_refusal(choice.codec, choice.level);
        if (!refusal.empty()) learning.fail("codecs", refusal);
        costs.expect_encoding(learning, choice.codec, choice.level);
        policies::Plan coded = first;
        coded.synchronisation = policies::Synchronisation::s_sgd;
        coded.codec = choice.codec;
        coded.codec_level = choice.level;
        policies::CodecTime row = costs.row(coded);
        const bool is_there = std::ranges::any_of(rows, [&](const policies::CodecTime& other) {
            return other.codec == row.codec && other.level == row.level;
        });
        if (!is_there) rows.push_back(std::move(row));
    }
    return rows;
}

// What workers compute in each step, as the slowest in a group of that size always does, and the
// mean of what they wait for once a period: the others' models, and who was slow in that step.
void wait_once_a_period(std::vector<policies::GroupTime>& groups,
                        const std::vector<policies::BatchTime>& compute, Duration update,
                        std::int64_t period) {
    for (policies::GroupTime& group : groups) {
        const std::vector<policies::BatchTime>& own =
            group.compute.empty() ? compute : group.compute;
        const Duration own_update = group.compute.empty() ? update : group.update;
        const auto shorten = [&](std::vector<policies::BatchTime>& steps, std::int64_t micro_steps,
                                 Duration once) {
            for (std::size_t i = 0; i < steps.size(); ++i) {
                Duration& whole = steps[i].time;
                const Duration computed = std::min(whole, micro_steps * own[i].time + once);
                whole = computed + Duration::of((whole - computed).raw() / period);
            }
        };
        INVARIANT(group.steps.size() == own.size());
        shorten(group.steps, 1, own_update);
        shorten(group.twice, 2, own_update);
        shorten(group.further, 1, Duration{});
    }
}

// Simulated steps wait for an all-reduce each.
void fit_simulated_steps(ConfigReader& learning, const sim::SynchronisationSettings& settings,
                         bool in_layout, policies::StepTime& time) {
    const sim::SynchronisationRule& rule = *sim::find_synchronisation_rule(settings.rule);
    if (rule.exchange != sim::Exchange::all_reduce || rule.name == "backup_workers") {
        learning.fail("synchronisation",
                      fmt::format("{} does not wait as the steps of \"simulated\" at "
                                  "/job/step_time do, for an all-reduce among all: expected "
                                  "another step_time, and what it costs on \"network\"",
                                  rule.name));
    }
    if (!rule.periodic || settings.period == 1) return;
    if (in_layout) {
        learning.fail("synchronisation_settings",
                      fmt::format("\"period\" is {}, and the steps of \"simulated\" at "
                                  "/job/step_time have a \"layout\", which sends in each",
                                  settings.period));
    }
    wait_once_a_period(time.groups, time.compute, time.update, settings.period);
    for (policies::LearnerSteps& row : time.learner_steps) {
        wait_once_a_period(row.groups, row.compute, row.update, settings.period);
    }
}

}  // namespace

void read_real_costs(ConfigReader& learning, const sim::RealTask& task, Scenario& scenario) {
    sim::JobSpec& job = scenario.job;
    policies::StepTime& time = *job.profile.step_time;
    const sim::SynchronisationSettings& settings = task.synchronisation;
    const Network network = read_network(learning, task);
    if (network.there && !time.synchronisation.empty()) {
        learning.fail("network",
                      "stands beside \"exchange\" at /job/step_time: expected "
                      "one of them");
    }
    if (network.there && !time.groups.empty()) {
        learning.fail("network", "stands beside \"simulated\" at /job/step_time, which has one");
    }
    const bool measured = !time.groups.empty() || !time.synchronisation.empty();
    if (!measured) {
        const Costs costs(task, job, network);
        costs.expect_exchanges(learning);
        std::vector<policies::CodecTime> codecs = codecs_of(learning, task, job.plan, costs);
        time.exchanges = exchanges_of(task, job.plan, costs);
        time.codecs = std::move(codecs);
        time.bytes = network.model_bytes;
        return;
    }
    if (settings.straggling > 0) {
        learning.fail("synchronisation_settings",
                      "\"straggling\" does not go with the times of whole "
                      "groups at /job/step_time, which have theirs");
    }
    if (learning.has("codecs")) {
        learning.fail("codecs",
                      "are priced on \"network\", and /job/step_time has measured "
                      "exchanges: expected one of them");
    }
    const sim::SynchronisationRule& rule = *sim::find_synchronisation_rule(settings.rule);
    for (policies::SizedTime& point : time.synchronisation) {  // measured, of one exchange
        if (rule.periodic) point.time = Duration::of(point.time.raw() / settings.period);
    }
    if (!time.groups.empty()) {
        fit_simulated_steps(learning, settings, scenario.steps_in_layout, time);
    }
}

}  // namespace ukemi::scenarios
