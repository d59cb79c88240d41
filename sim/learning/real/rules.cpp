// rules.cpp — the table: one line a rule; and what exchanges cost.
#include "sim/learning/real/rules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/exact_math.hpp"
#include "base/invariant.hpp"
#include "base/rng.hpp"

namespace ukemi::sim {

namespace {

constexpr std::array table{
    SynchronisationRule{"ada_sgd", policies::Synchronisation::synchronous_averaging,
                        Exchange::all_reduce, "weights, later gradients", false, true, false, true,
                        "KungFu, ada_sgd.py", ada_sgd_step},
    SynchronisationRule{"backup_workers", policies::Synchronisation::s_sgd, Exchange::all_reduce,
                        "gradients", false, true, false, true, "Chen et al., arXiv:1604.00981",
                        backup_workers_step},
    SynchronisationRule{"elastic_averaging", policies::Synchronisation::elastic_averaging,
                        Exchange::all_reduce, "corrections", true, true, false, true,
                        "Zhang et al., arXiv:1412.6651", elastic_averaging_step},
    SynchronisationRule{"kungfu_averaging", policies::Synchronisation::synchronous_averaging,
                        Exchange::all_reduce, "weights", false, true, false, true,
                        "KungFu, sma_sgd.py", kungfu_averaging_step},
    SynchronisationRule{"local_sgd", policies::Synchronisation::local_sgd, Exchange::all_reduce,
                        "weights", true, true, false, true, "Stich, arXiv:1805.09767",
                        local_sgd_step},
    SynchronisationRule{"pair_averaging", policies::Synchronisation::pair_averaging, Exchange::pair,
                        "weights", false, false, false, true,
                        "Lian et al., arXiv:1710.06952; KungFu, async_sgd.py", pair_averaging_step},
    SynchronisationRule{"parameter_server", policies::Synchronisation::stale_parameter_server,
                        Exchange::server, "gradients and weights", false, false, false, false,
                        "Ho et al., NIPS'13; Zhang et al., arXiv:1511.05950",
                        parameter_server_step},
    SynchronisationRule{"s_sgd", policies::Synchronisation::s_sgd, Exchange::all_reduce,
                        "gradients", false, true, true, true,
                        "Chen et al., arXiv:1604.00981; KungFu, sync_sgd.py", s_sgd_step},
    SynchronisationRule{"synchronous_averaging", policies::Synchronisation::synchronous_averaging,
                        Exchange::all_reduce, "corrections", false, true, false, true,
                        "Koliousis et al., VLDB'19, Alg. 1", synchronous_averaging_step},
};

}  // namespace

std::span<const SynchronisationRule> synchronisation_rules() { return table; }

const SynchronisationRule* find_synchronisation_rule(std::string_view name) {
    const auto* found = std::ranges::find(table, name, &SynchronisationRule::name);
    return found == table.end() ? nullptr : found;
}

const SynchronisationRule& rule_for(const SynchronisationSettings& settings,
                                    policies::Synchronisation kind) {
    const SynchronisationRule* own = find_synchronisation_rule(settings.rule);
    INVARIANT(own != nullptr);
    if (own->kind == kind) return *own;
    const bool server = kind == policies::Synchronisation::stale_parameter_server;
    const SynchronisationRule* usual = find_synchronisation_rule(
        server ? "parameter_server"
               : policies::synchronisation_names()[static_cast<std::size_t>(kind)]);
    INVARIANT(usual != nullptr && usual->kind == kind);
    return *usual;
}

ExchangeCost exchange_cost(const SynchronisationRule& rule, const SynchronisationSettings& settings,
                           int workers, std::int64_t model_bytes, std::int64_t codec_bytes,
                           bool codec_gathers) {
    INVARIANT(workers >= 1 && model_bytes >= 1 && codec_bytes >= 0);
    ExchangeCost cost;
    if (rule.periodic) cost.every_steps = settings.period;
    if (workers == 1) return cost;
    const std::int64_t others = workers - 1;
    const std::int64_t bytes = codec_bytes > 0 ? codec_bytes : model_bytes;
    switch (rule.exchange) {
        case Exchange::all_reduce:
            cost.messages = codec_gathers ? others : 2 * others;
            cost.bytes = codec_gathers ? others * bytes : (2 * others * bytes - 1) / workers + 1;
            break;
        case Exchange::pair:
            cost.messages = 1;
            cost.bytes = bytes;
            break;
        case Exchange::server:
            cost.messages = 2;
            cost.bytes = (2 * others * bytes - 1) / workers + 1;
            break;
    }
    return cost;
}

Duration exchange_time(const ExchangeCost& cost, Duration latency, double bytes_per_s) {
    INVARIANT(bytes_per_s > 0 && cost.every_steps >= 1);
    const double wire_ns = static_cast<double>(cost.bytes) / bytes_per_s * 1e9;
    const double latency_ns =
        static_cast<double>(cost.messages) * static_cast<double>(latency.raw());
    return nanoseconds(round_up((wire_ns + latency_ns) / static_cast<double>(cost.every_steps)));
}

namespace {

constexpr std::int64_t straggling_draws = 4096;

// Of all learners, step by step, from one stream; lognormal with mean 1.
class DrawnTimes {
public:
    DrawnTimes(double variation, int learners)
        : variance_(exact::log1p(variation * variation)),
          times_(static_cast<std::size_t>(learners)) {}
    std::span<const double> next() {
        for (double& time : times_) {
            time = random_.lognormal(-variance_ / 2, std::sqrt(variance_));
        }
        return times_;
    }
    std::size_t learners() const { return times_.size(); }

private:
    RandomStream random_{0, "straggling/mean"};
    double variance_;
    std::vector<double> times_;
};

// All wait, every `period` steps, for the learner that comes at this place.
double mean_with_barriers(DrawnTimes& times, std::int64_t period, std::size_t waited_for) {
    const std::int64_t barriers = straggling_draws / period;
    double sum = 0;
    std::vector<double> since(times.learners());
    for (std::int64_t barrier = 0; barrier < barriers; ++barrier) {
        std::ranges::fill(since, 0.0);
        for (std::int64_t step = 0; step < period; ++step) {
            const std::span<const double> now = times.next();
            for (std::size_t i = 0; i < since.size(); ++i) since[i] += now[i];
        }
        std::ranges::sort(since);
        sum += since[waited_for];
    }
    return sum / static_cast<double>(barriers * period);
}

// Nobody begins a step before all have made the one that is `lead` before the last: in step at 0.
double mean_with_lead(DrawnTimes& times, std::size_t lead) {
    std::vector<double> made(times.learners());
    std::vector<double> all_made(lead + 1);  // of the last steps, in turn
    for (std::size_t step = 0; step < straggling_draws; ++step) {
        double& barrier = all_made[step % all_made.size()];
        const std::span<const double> now = times.next();
        for (std::size_t i = 0; i < made.size(); ++i) {
            made[i] = std::max(made[i], barrier) + now[i];
        }
        barrier = std::ranges::max(made);
    }
    return std::accumulate(made.begin(), made.end(), 0.0) /
           static_cast<double>(made.size() * straggling_draws);
}

}  // namespace

std::int64_t straggling_per_mille(const SynchronisationRule& rule,
                                  const SynchronisationSettings& settings, int learners) {
    INVARIANT(learners >= 1);
    const bool server = rule.exchange == Exchange::server;
    if (settings.straggling <= 0 || learners == 1 || (!rule.waits && !server)) return 1000;
    DrawnTimes times(settings.straggling, learners);
    double mean = 0;
    if (server) {
        if (settings.clock_lead_max >= straggling_draws) return 1000;
        mean = mean_with_lead(times, static_cast<std::size_t>(settings.clock_lead_max));
    } else {
        const int backups = rule.name == "backup_workers" ? settings.backups : 0;
        const auto waited_for = static_cast<std::size_t>(std::max(1, learners - backups) - 1);
        const std::int64_t period = rule.periodic ? settings.period : 1;
        mean = mean_with_barriers(times, std::min(period, straggling_draws), waited_for);
    }
    return std::max<std::int64_t>(1, round_nearest(1000 * mean));
}

}  // namespace ukemi::sim
