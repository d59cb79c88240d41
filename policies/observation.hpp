// observation.hpp — what a real controller could know at this moment, and nothing more.
//
// A snapshot of values, lists sorted by id, valid only during the call it is passed to. The world
// fills in what it sees; the Controller fills in what it accounts for (samples, steps, epoch).
// What a world does not measure stays zero or empty. The future is not here: a policy that needs
// it asks for an Oracle, and the scenario has to name one.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "policies/plan.hpp"

namespace ukemi::policies {

enum class JobPhase : std::uint8_t {
    waiting,        // too few instances to train
    transition,     // starting, joining, restoring, warming up
    running,        // taking steps
    checkpointing,  // saving; no steps meanwhile
    finished,
};
inline constexpr std::array<std::string_view, 5> job_phase_names{"waiting", "transition", "running",
                                                                 "checkpointing", "finished"};

// What a change of the group is at; names are data.
enum class TransitionPhase : std::uint8_t {
    none,        // not in a transition, or in one whose phases nobody tells apart
    notice,      // a loss is announced; the group trains on
    drain,       // saving, so that what follows loses nothing
    spawn,       // processes start; others may train meanwhile
    rendezvous,  // the new group forms
    transfer,    // the model goes to those that lack it, or is read back
    warm_up,     // until steps are as fast as they will be
};
inline constexpr std::size_t transition_phase_count = 7;
inline constexpr std::array<std::string_view, transition_phase_count> transition_phase_names{
    "none", "notice", "drain", "spawn", "rendezvous", "transfer", "warm_up"};

// What one place sells: an availability zone, or one instance type in it where there are several.
struct ZoneView {
    ZoneId zone{};
    std::int32_t spot_capacity = 0;  // spot instances of ours the zone would carry now
    Price spot_price;
    std::int32_t spot_held = 0;
    std::int32_t on_demand_held = 0;
    std::int32_t pending = 0;  // asked for, not there yet
    Price on_demand_price{};
    std::int32_t speed_per_mille = 1000;  // of a worker there, relative to the job's profile
    Dollars move_cost{};                  // egress to bring the model there from where it is now
    Duration move_time{};                 // to bring it there, on top of a restart
    friend bool operator==(const ZoneView&, const ZoneView&) = default;
};

struct Notice {  // a revocation that has been announced
    InstanceId instance{};
    ZoneId zone{};
    Instant lost_at;
    friend bool operator==(const Notice&, const Notice&) = default;
};

struct WorkerView {  // of the last step; zero where a world does not measure it
    InstanceId instance{};
    Duration step;
    Duration compute;
    Duration exposed_communication;
    Duration input_wait;
    friend bool operator==(const WorkerView&, const WorkerView&) = default;
};

struct GradientStatistics {
    double squared_norm = 0;          // |G|², of the averaged gradient
    double covariance_trace = 0;      // tr Σ, of one sample's gradient
    double noise_scale = 0;           // B_simple = tr Σ / |G|² (McCandlish et al. 2018, eq. 2.9)
    double applied_squared_norm = 0;  // |ḡ|² of the average that was applied, noise and all; with
                                      // a codec, of what it left
    friend bool operator==(const GradientStatistics&, const GradientStatistics&) = default;
};

// How the last step exchanged its gradients: of each, the slowest worker's. Zero where a world does
// not measure it.
struct ExchangeView {
    Duration compute;        // forwards and backwards
    Duration communication;  // busy with collectives, hidden behind compute or not
    Duration exposed;        // of communication and encoding: what compute did not hide
    Duration encoding;       // by the codec, and decoding
    std::int64_t bytes = 0;  // that one worker handed in
    double relative_error = 0;  // ‖C(g) − g‖ ÷ ‖g‖ of the codec; with error feedback, of g + kept
    friend bool operator==(const ExchangeView&, const ExchangeView&) = default;
};

// What is between two hosts of the group, measured by its workers. Hosts are numbered as their
// lowest ranks come.
struct LinkView {
    std::int32_t host = 0;  // the lower number
    std::int32_t other = 0;
    Duration round_trip;          // of a few bytes
    double bytes_per_second = 0;  // one way, while as much goes the other way
    friend bool operator==(const LinkView&, const LinkView&) = default;
};

struct Observation {
    Instant now;
    Duration decision_interval;  // how often policies are asked by the clock; zero: on events only
    bool losses_between_ticks = false;  // some may wait for the clock to be noticed
    Instant deadline = Instant::never();
    // What a live run's pieces before this one took: `now` and the deadline count from its start.
    Duration earlier;

    // Accounting, by the Controller. Samples count what is in the model now.
    std::int64_t samples_done = 0;
    std::int64_t samples_total = 0;
    std::int64_t steps_done = 0;
    std::int64_t epoch = 0;

    // The job, by the world.
    JobPhase phase = JobPhase::waiting;
    TransitionPhase transition_phase = TransitionPhase::none;  // where a world tells them apart
    Duration transition_remaining;
    std::int64_t samples_safe = 0;  // would survive the loss of every instance
    std::int32_t workers = 0;       // training together now
    std::int32_t workers_min = 1;   // fewer cannot train
    double loss = 0;
    GradientStatistics gradient;
    ExchangeView exchange;
    std::vector<WorkerView> worker_views;
    // Of every two hosts of the present group, sorted; empty until all are measured, with one host,
    // and unless a policy is asked that looks at them (Policy::looks_at_links).
    std::vector<LinkView> links;

    // The market, by the world.
    std::int32_t spot_held = 0;
    std::int32_t on_demand_held = 0;
    std::int32_t spot_capacity = 0;  // over all zones
    Price on_demand_price{};
    Dollars spent;                 // metered so far; bills round up, and leave out what is free
    std::int64_t spot_losses = 0;  // spot instances taken from us so far
    std::int64_t spot_loss_events = 0;  // in so many bursts: instances lost at one instant are one
    Duration spot_time;                 // for how long any spot instance was held so far
    std::vector<Instant> spot_since;    // when those held now were opened, in ascending order;
                                        // only if a policy looks at them (Policy::looks_at_ages)
    std::vector<ZoneView> zones;
    std::vector<Notice> notices;  // announced and not yet carried out

    friend bool operator==(const Observation&, const Observation&) = default;
};

}  // namespace ukemi::policies
