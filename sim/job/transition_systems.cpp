#include "sim/job/transition_systems.hpp"

#include <algorithm>
#include <initializer_list>

namespace ukemi::sim {

namespace {

policies::TimeBySize always(double time_s) { return {{1, seconds(time_s)}}; }

policies::TimeBySize by_size(std::initializer_list<std::pair<std::int32_t, double>> points) {
    policies::TimeBySize times;
    for (const auto& [workers, time_s] : points) times.push_back({workers, seconds(time_s)});
    return times;
}

ChangeCosts& of(TransitionCosts& costs, GroupChange change) {
    return costs.changes[static_cast<std::size_t>(change)];
}

// Everybody is stopped and started again, whatever changed; a start is all that there is.
TransitionCosts whole_program(policies::TimeBySize spawn) {
    TransitionCosts costs;
    costs.whole_program = true;
    for (ChangeCosts& change : costs.changes) change.spawn = spawn;
    return costs;
}

TransitionCosts kungfu() {
    // 20.39 s for 1 → 2, 40.12 ms for 2 → 1: what both have is taken for the rendezvous.
    TransitionCosts costs;
    for (ChangeCosts& change : costs.changes) change.rendezvous = always(0.04012);
    of(costs, GroupChange::start).spawn = always(20.39 - 0.04012);
    of(costs, GroupChange::grow).spawn = always(20.39 - 0.04012);
    return costs;
}

TransitionCosts or_et_al() {
    // Training stands still for 2.7 s at each change. A detached worker is back after 5 s in all.
    TransitionCosts costs;
    for (ChangeCosts& change : costs.changes) change.rendezvous = always(2.7);
    costs.overlapped_spawn = whole_seconds(30);
    costs.reattach = seconds(5 - 2.7);
    return costs;
}

// Restart after a node was added, by the number of nodes.
policies::TimeBySize parcae_add() {
    return by_size({{1, 28.76},
                    {2, 33.587},
                    {4, 36.189},
                    {8, 40.882},
                    {12, 39.02},
                    {16, 42.892},
                    {20, 36.749},
                    {24, 37.849},
                    {32, 37.588}});
}

TransitionCosts parcae() {
    TransitionCosts costs;
    of(costs, GroupChange::start).rendezvous = parcae_add();
    of(costs, GroupChange::grow).rendezvous = parcae_add();
    of(costs, GroupChange::shrink).rendezvous = by_size({{1, 54.28},
                                                         {2, 56.199},
                                                         {4, 60.734},
                                                         {8, 69.429},
                                                         {12, 75.658},
                                                         {16, 81.714},
                                                         {20, 83.816},
                                                         {24, 92.427},
                                                         {32, 95.427}});
    return costs;
}

TransitionCosts checkpoint_restart() { return whole_program(parcae_add()); }

TransitionCosts trial_and_error() {
    TransitionCosts costs = whole_program(parcae_add());
    costs.saves_first = false;
    return costs;
}

TransitionCosts bamboo() {
    TransitionCosts costs;
    of(costs, GroupChange::start).rendezvous = always(30);
    of(costs, GroupChange::grow).rendezvous = always(20);
    return costs;
}

TransitionCosts elasticflow() {
    // 29 + 2·(log2 n + 1) s, and from 256 GPUs on 54 + 2·(log2 n + 1) s.
    return whole_program(by_size({{1, 31},
                                  {2, 33},
                                  {4, 35},
                                  {8, 37},
                                  {16, 39},
                                  {32, 41},
                                  {64, 43},
                                  {128, 45},
                                  {255, 47},
                                  {256, 72},
                                  {512, 74},
                                  {1024, 76}}));
}

template <int Seconds>
TransitionCosts rescale() {
    return whole_program(always(Seconds));
}

constexpr std::string_view sia_source =
    "Subramanya et al., SOSP'23, sia-simulator/applications.py: rescale_time (save and restore in)";

constexpr TransitionSystem systems[] = {
    {"kungfu", "survivors wait while a worker starts (20.4 s); leaving takes 40 ms",
     "Mai et al., OSDI'20, log of the authors' example (1 to 2 and 2 to 1 workers)", kungfu},
    {"or_et_al", "workers start in 30 s while others train; each change stops all for 2.7 s",
     "Or et al., MLSys'20, read off the authors' logs (medians of 28.7-44 s and 2.1-3.6 s)",
     or_et_al},
    {"checkpoint_restart", "every change saves, ends the program, starts it anew and restores",
     "starting as Parcae measured it (below); saving and restoring are the job's `checkpoint`",
     checkpoint_restart},
    {"trial_and_error",
     "as checkpoint_restart, and nothing is saved before: each trial begins anew",
     "as checkpoint_restart; \"each trial restarts the whole program\" (KungFu's talk)",
     trial_and_error},
    {"parcae", "restarts of 29-43 s after a machine came, 54-95 s after one went, by size",
     "Duan et al., NSDI'24, liveput/cost.py (p3.2xlarge, 10 Gb/s, GPT-2); its REMOVE table is "
     "overridden by the ADD table there",
     parcae},
    {"bamboo", "30 s for a rendezvous of all, 20 s for a local one, none when neighbours take over",
     "Thorpe et al., NSDI'23, project_pactum/simulation (GPT-2 and BERT)", bamboo},
    {"elasticflow", "31-47 s by size, 72 s and more from 256 machines on",
     "Gu et al., ASPLOS'23, scheduler/utils.py:148", elasticflow},
    {"pollux", "30 s for any change (save and restore in)",
     "Qiao et al., OSDI'21, simulator.py:163: rescale_time", rescale<30>},
    {"sia_cifar10", "50 s for any change", sia_source, rescale<50>},
    {"sia_deepspeech2", "25 s for any change", sia_source, rescale<25>},
    {"sia_bert", "120 s for any change", sia_source, rescale<120>},
    {"sia_yolov3", "80 s for any change", sia_source, rescale<80>},
    {"sia_imagenet", "250 s for any change", sia_source, rescale<250>},
    {"sia_ncf", "15 s for any change", sia_source, rescale<15>},
};

}  // namespace

std::span<const TransitionSystem> all_transition_systems() { return systems; }

const TransitionSystem* find_transition_system(std::string_view name) {
    const auto* found = std::ranges::find(systems, name, &TransitionSystem::name);
    return found == std::end(systems) ? nullptr : found;
}

}  // namespace ukemi::sim
