// training_rules.cpp — the Plans that a step can carry out, and the pairs of a round.
#include "kernels/training_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "kernels/codec.hpp"
#include "kernels/schedule.hpp"
#include "policies/plan_fields.hpp"

namespace ukemi::kernels {

namespace {

// Of learners that have a replica each.
std::string learners_refusal(const policies::Plan& plan) {
    if (plan.synchronisation == policies::Synchronisation::pair_averaging) {
        return "pairs are of workers: pair_averaging takes 1 learner a worker";
    }
    if (plan.learners_per_gpu > learners_most) {
        return fmt::format("averaging takes at most {} learners a worker, not {}", learners_most,
                           plan.learners_per_gpu);
    }
    if (plan.global_batch > 0) {
        return "averaging learners have a batch each: expected a batch of each worker, not one "
               "that all share";
    }
    if (plan.accumulation != 1) {
        return "averaging learners take a step each batch: expected accumulation 1";
    }
    return {};
}

constexpr std::int64_t uncountable = std::numeric_limits<std::int64_t>::max();

// samples_per_step() of Plans that nobody has judged yet: they may come from a file or the wire.
std::int64_t counted_samples(const policies::Plan& plan, std::int32_t workers) {
    if (plan.accumulation < 1 || plan.learners_per_gpu < 1) return 0;
    if (plan.global_batch > 0) return plan.global_batch;
    std::int64_t product = workers;
    for (const std::int64_t factor : {plan.batch_per_learner, std::int64_t{plan.learners_per_gpu},
                                      std::int64_t{plan.accumulation}}) {
        if (__builtin_mul_overflow(product, factor, &product)) return uncountable;
    }
    return policies::samples_per_step(plan, workers);
}

}  // namespace

std::string training_refusal(const policies::Plan& plan, int workers) {
    constexpr std::int64_t samples_max = std::int64_t{1} << 31;
    const auto name = [](std::span<const std::string_view> names, auto value) {
        return names[static_cast<std::size_t>(value)];
    };
    const std::string level = codec_refusal(plan.codec, plan.codec_level);
    if (!level.empty())
        return fmt::format("codec {}: {}", name(policies::codec_names(), plan.codec), level);
    if (plan.layout.pipeline != 1 || plan.layout.tensor != 1) {
        return "only data parallel layouts can be trained here";
    }
    const bool averaging =
        plan.synchronisation == policies::Synchronisation::synchronous_averaging ||
        plan.synchronisation == policies::Synchronisation::pair_averaging;
    if (!averaging && plan.synchronisation != policies::Synchronisation::s_sgd) {
        return fmt::format("{} cannot be trained here",
                           name(policies::synchronisation_names(), plan.synchronisation));
    }
    if (averaging && plan.codec != policies::Codec::none) {
        return fmt::format("{} exchanges models and no gradients: no codec {}",
                           name(policies::synchronisation_names(), plan.synchronisation),
                           name(policies::codec_names(), plan.codec));
    }
    if (averaging && plan.learners_per_gpu != 1) {
        const std::string refused = learners_refusal(plan);
        if (!refused.empty()) return refused;
    }
    const std::int64_t samples = counted_samples(plan, workers);
    if (samples == uncountable) return "a step has more samples than can be counted";
    if (samples < 1 || samples > samples_max) {
        return fmt::format("a step has from 1 to {} samples, not {}", samples_max, samples);
    }
    if (!std::isfinite(plan.learning_rate)) return "the learning rate is not a number";
    if (!policies::plan_values::tree(plan.tree)) return "no tree of hosts with host 0 at its root";
    return schedule_refusal(plan.collective, workers);
}

bool learners_average(const policies::Plan& plan) {
    return plan.synchronisation == policies::Synchronisation::synchronous_averaging &&
           plan.learners_per_gpu > 1;
}

std::optional<int> peer_of(std::uint64_t seed, std::int64_t step, int rank, int size) {
    std::vector<int> order(static_cast<std::size_t>(size));
    std::iota(order.begin(), order.end(), 0);
    RandomStream random(seed, fmt::format("pairs/{}", step));
    for (std::size_t last = order.size(); last-- > 1;) {
        std::swap(
            order[last],
            order[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(last)))]);
    }
    const auto place = static_cast<std::size_t>(std::ranges::find(order, rank) - order.begin());
    const std::size_t other = place ^ 1U;  // 0 with 1, 2 with 3, …
    if (other >= order.size()) return std::nullopt;
    return order[other];
}

}  // namespace ukemi::kernels
