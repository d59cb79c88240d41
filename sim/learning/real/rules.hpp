// rules.hpp — the table of synchronisation rules: what each does to the model, and what it sends.
//
// A rule's effect is one function, in a file of its own. Its cost is what one exchange moves, in
// which pattern, and how often: enough for a network to say how long it takes.
#pragma once

#include <span>
#include <string_view>

#include "sim/learning/real/group.hpp"

namespace ukemi::sim {

enum class Exchange : std::uint8_t {
    all_reduce,  // of as many numbers as the model has
    pair,        // every worker takes one other's model
    server,      // every worker pushes a gradient to the servers and pulls the weights; one server
                 // on each worker's machine has a part of them
};

struct SynchronisationRule {
    std::string_view name;
    policies::Synchronisation kind = policies::Synchronisation::s_sgd;  // in a Plan
    Exchange exchange = Exchange::all_reduce;
    std::string_view sends;  // what travels
    bool periodic = false;   // every `period` steps only; else with each step
    bool waits = true;       // a step is over when all have made it (else each goes on by itself)
    bool codecs = false;     // gradients travel: a codec may make them smaller
    bool momentum = true;    // uses the local optimiser's momentum
    std::string_view source;
    void (*step)(GroupState& state, GroupStep& step);
};

std::span<const SynchronisationRule> synchronisation_rules();
const SynchronisationRule* find_synchronisation_rule(std::string_view name);
// What a Plan with this synchronisation means: the settings' own rule if it is of the kind, else
// the one that has the kind's name (of `stale_parameter_server`: `parameter_server`).
const SynchronisationRule& rule_for(const SynchronisationSettings& settings,
                                    policies::Synchronisation kind);

// ---- what an exchange costs ---------------------------------------------------------------------

// Of one worker, in one exchange: α-β costs (latency and bytes on its link).
struct ExchangeCost {
    std::int64_t messages = 0;  // one after the other
    std::int64_t bytes = 0;     // that a worker sends
    std::int64_t every_steps = 1;
};
// `model_bytes`: of the numbers that travel. All-reduce: a ring's 2(n−1) messages of a part each;
// pairs: one model; server: 2(n−1)/n of a model, in a push and a pull, but no barrier. A codec that
// gathers sends every message to n−1 others in turn, as a ring does.
ExchangeCost exchange_cost(const SynchronisationRule& rule, const SynchronisationSettings& settings,
                           int workers, std::int64_t model_bytes, std::int64_t codec_bytes,
                           bool codec_gathers);

// Mean over a step, rounded up to a nanosecond.
Duration exchange_time(const ExchangeCost& cost, Duration latency, double bytes_per_s);

// How long the step of a group takes when its learners' times vary, in thousandths of the mean
// time: that of the slowest that is waited for, in every step, once a period, or where a server
// lets nobody lead by more (the mean of 4096 draws from one stream).
std::int64_t straggling_per_mille(const SynchronisationRule& rule,
                                  const SynchronisationSettings& settings, int learners);

// The rules, one each.
void s_sgd_step(GroupState& state, GroupStep& step);
void synchronous_averaging_step(GroupState& state, GroupStep& step);
void elastic_averaging_step(GroupState& state, GroupStep& step);
void kungfu_averaging_step(GroupState& state, GroupStep& step);
void ada_sgd_step(GroupState& state, GroupStep& step);
void local_sgd_step(GroupState& state, GroupStep& step);
void pair_averaging_step(GroupState& state, GroupStep& step);
void parameter_server_step(GroupState& state, GroupStep& step);
void backup_workers_step(GroupState& state, GroupStep& step);

// Of rules with replicas: the common model as their element-wise mean.
void common_is_mean(GroupState& state);
// Learners that there are not yet begin from the common model, at rest.
void ensure_learners(GroupState& state, int learners);

}  // namespace ukemi::sim
