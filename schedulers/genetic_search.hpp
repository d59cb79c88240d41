// genetic_search.hpp — allocations of GPUs on machines, bred: the search of Pollux (Qiao et al.,
// OSDI'21), seeded.
//
// An allocation says how many GPUs of each machine each job has. A hundred generations of a hundred
// are bred from the last search's population: parents by tournaments of two, crossed between two
// jobs; then mutations (a job's back to what it has; some taken away; some more where machines have
// free ones, most likely where the job is already) and repairs (no two jobs that span machines on
// one machine; no job above its most; no machine above what it has, whose GPUs go to earlier jobs
// first). Who survives is chosen by two goals as in NSGA-II (Deb et al., 2002): the value, which
// decides in the end, and the utility: speedup per GPU, weighed by GPUs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/rng.hpp"
#include "schedulers/scheduler.hpp"

namespace ukemi::schedulers {

struct GeneticRules {
    std::int64_t seed = 1;
    std::int32_t population = 100;
    std::int32_t generations = 100;
};

// GPUs by job and machine, job after job.
using GpuGrid = std::vector<std::uint16_t>;

struct SearchedJob {
    JobId id{};
    std::int32_t gpus_most = 1;
    double left_by_change = 1;  // of its speedup, if its row changes
    std::function<double(std::int32_t machines, std::int32_t gpus)> speedup;  // of at least 1 GPU
};

class GeneticSearch {
public:
    GeneticSearch(const GeneticRules& rules, std::int32_t machines, std::int32_t gpus_per_machine);

    // `present`: what each of these jobs has. The most valuable allocation that was found.
    GpuGrid best(const std::vector<SearchedJob>& jobs, const GpuGrid& present);

private:
    struct Individual {
        GpuGrid gpus;
        double value = 0;  // the harmonic mean of speedups, changes paid for
        double utility = 0;
        std::int32_t front = 0;  // of the goals; the first is not dominated
        double distance = 0;     // to its neighbours on the front
    };
    // Which allocations there are already. They stay where they are until it is cleared.
    class KnownGrids {
    public:
        void clear(std::size_t grids_most);
        bool has(const GpuGrid& grid);
        void add(const GpuGrid& grid);  // the one that was just asked for, where it stays

    private:
        struct Slot {
            std::uint64_t hash = 0;
            const std::uint16_t* gpus = nullptr;
        };
        std::vector<Slot> slots_;  // a power of two, at most half of them taken
        Slot asked_;
        std::size_t asked_at_ = 0;
    };

    void adopt(const std::vector<SearchedJob>& jobs, const GpuGrid& present);
    void breed(const std::vector<SearchedJob>& jobs, const GpuGrid& present,
               std::vector<Individual>& children);
    const Individual& parent();
    void mutate(const GpuGrid& present, GpuGrid& gpus);
    void add_some(GpuGrid& gpus);
    void repair(const std::vector<SearchedJob>& jobs, GpuGrid& gpus);
    std::span<const std::size_t> machines_of(const std::uint16_t* row);
    void cap(std::uint16_t* row, std::int32_t above);
    void evaluate(const std::vector<SearchedJob>& jobs, const GpuGrid& present, Individual& one);
    double speedup_of(const SearchedJob& job, std::size_t number, std::int32_t machines,
                      std::int32_t gpus);
    void survive();

    GeneticRules rules_;
    std::size_t machines_;
    std::int32_t each_;
    RandomStream random_;
    std::vector<JobId> bred_for_;
    std::vector<Individual> population_;
    KnownGrids known_;
    // Of the child at hand: kept from one to the next, as a search has ten thousand and more.
    GpuGrid first_;
    GpuGrid second_;
    std::vector<std::int32_t> used_;     // GPUs, by machine
    std::vector<std::int32_t> left_;     // GPUs, by machine
    std::vector<std::uint8_t> spanned_;  // by machine: by a job that spans machines
    std::vector<std::uint8_t> active_;   // by machine
    std::vector<std::size_t> machines_chosen_;
    std::vector<std::size_t> machines_here_;
    // Of this search, as far as asked: by job, machines and GPUs.
    std::unordered_map<std::uint64_t, double> speedups_;  // order-free: only looked up
};

}  // namespace ukemi::schedulers
