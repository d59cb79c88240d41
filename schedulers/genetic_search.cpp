// genetic_search.cpp — breeds allocations.
#include "schedulers/genetic_search.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

namespace ukemi::schedulers {

namespace {

constexpr double chance_of_crossing = 0.9;
constexpr double chance_of_present = 0.1;
constexpr double chance_of_thinning = 0.1;
constexpr double chance_of_taking = 0.1;
// Of a machine's share of the cluster, so that nobody's is nothing.
constexpr double least_speedup = 1e-3;

bool dominates(double value, double utility, double other_value, double other_utility) {
    return value >= other_value && utility >= other_utility &&
           (value > other_value || utility > other_utility);
}

// Four numbers at a time, each word mixed into the whole.
std::uint64_t hash_of(const GpuGrid& grid) {
    constexpr std::size_t together = sizeof(std::uint64_t) / sizeof(GpuGrid::value_type);
    std::uint64_t hash = grid.size();
    for (std::size_t i = 0; i < grid.size(); i += together) {
        std::uint64_t word = 0;
        const std::size_t numbers = std::min(together, grid.size() - i);
        std::memcpy(&word, &grid[i], numbers * sizeof(GpuGrid::value_type));
        hash = (hash ^ word) * 0xBF58476D1CE4E5B9U;
        hash ^= hash >> 32U;
    }
    return hash;
}

}  // namespace

void GeneticSearch::KnownGrids::clear(std::size_t grids_most) {
    slots_.assign(std::bit_ceil(2 * grids_most), {});
}

bool GeneticSearch::KnownGrids::has(const GpuGrid& grid) {
    asked_ = {hash_of(grid), nullptr};
    asked_at_ = asked_.hash & (slots_.size() - 1);
    for (; slots_[asked_at_].gpus != nullptr; asked_at_ = (asked_at_ + 1) & (slots_.size() - 1)) {
        const Slot& slot = slots_[asked_at_];
        if (slot.hash == asked_.hash && std::equal(grid.begin(), grid.end(), slot.gpus)) {
            return true;
        }
    }
    return false;
}

void GeneticSearch::KnownGrids::add(const GpuGrid& grid) {
    slots_[asked_at_] = {asked_.hash, grid.data()};
}

GeneticSearch::GeneticSearch(const GeneticRules& rules, std::int32_t machines,
                             std::int32_t gpus_per_machine)
    : rules_(rules),
      machines_(static_cast<std::size_t>(machines)),
      each_(gpus_per_machine),
      random_(static_cast<std::uint64_t>(rules.seed), "scheduler/pollux"),
      machines_here_(machines_) {}

GpuGrid GeneticSearch::best(const std::vector<SearchedJob>& jobs, const GpuGrid& present) {
    speedups_.clear();
    adopt(jobs, present);
    for (std::int32_t generation = 0; generation < rules_.generations; ++generation) {
        std::vector<Individual> children;
        children.reserve(static_cast<std::size_t>(rules_.population));
        breed(jobs, present, children);
        std::ranges::move(children, std::back_inserter(population_));
        survive();
    }
    return std::ranges::max_element(population_, {}, &Individual::value)->gpus;
}

// The last population, with rows of jobs that are still there.
void GeneticSearch::adopt(const std::vector<SearchedJob>& jobs, const GpuGrid& present) {
    if (population_.empty()) population_.push_back({present, 0, 0, 0, 0});
    std::vector<JobId> now;
    for (const SearchedJob& job : jobs) now.push_back(job.id);
    if (bred_for_.empty()) bred_for_ = now;
    for (Individual& one : population_) {
        GpuGrid gpus(jobs.size() * machines_, 0);
        for (std::size_t i = 0; i < now.size(); ++i) {
            const auto before = std::ranges::find(bred_for_, now[i]);
            if (before == bred_for_.end()) continue;
            const auto row = (before - bred_for_.begin()) * static_cast<std::ptrdiff_t>(machines_);
            std::copy_n(one.gpus.begin() + row, machines_,
                        gpus.begin() + static_cast<std::ptrdiff_t>(i * machines_));
        }
        one.gpus = std::move(gpus);
        repair(jobs, one.gpus);
        evaluate(jobs, present, one);
    }
    bred_for_ = std::move(now);
    survive();
}

void GeneticSearch::breed(const std::vector<SearchedJob>& jobs, const GpuGrid& present,
                          std::vector<Individual>& children) {
    const auto wanted = static_cast<std::size_t>(rules_.population);
    known_.clear(population_.size() + wanted);  // nobody twice
    for (const Individual& one : population_) {
        if (!known_.has(one.gpus)) known_.add(one.gpus);
    }
    constexpr int tries_most = 10;
    for (int tries = 0; tries < tries_most && children.size() < wanted; ++tries) {
        for (std::size_t pair = 0; 2 * pair < wanted; ++pair) {
            first_ = parent().gpus;
            second_ = parent().gpus;
            const auto jobs_before = random_.integer(0, std::ssize(jobs) - 1);
            if (random_.chance(chance_of_crossing)) {
                std::swap_ranges(first_.begin(),
                                 first_.begin() + jobs_before * static_cast<int>(machines_),
                                 second_.begin());
            }
            for (GpuGrid* const child : {&first_, &second_}) {
                mutate(present, *child);
                repair(jobs, *child);
                if (children.size() >= wanted || known_.has(*child)) continue;
                Individual& born = children.emplace_back(Individual{*child, 0, 0, 0, 0});
                known_.add(born.gpus);
                evaluate(jobs, present, born);
            }
        }
    }
}

const GeneticSearch::Individual& GeneticSearch::parent() {
    const auto one = [&]() -> const Individual& {
        return population_[static_cast<std::size_t>(
            random_.integer(0, std::ssize(population_) - 1))];
    };
    const Individual& a = one();
    const Individual& b = one();
    if (a.front != b.front) return a.front < b.front ? a : b;
    return a.distance >= b.distance ? a : b;
}

void GeneticSearch::mutate(const GpuGrid& present, GpuGrid& gpus) {
    for (std::size_t row = 0; row < gpus.size(); row += machines_) {
        if (random_.chance(chance_of_present)) {
            std::copy_n(present.begin() + static_cast<std::ptrdiff_t>(row), machines_,
                        gpus.begin() + static_cast<std::ptrdiff_t>(row));
        }
        if (!random_.chance(chance_of_thinning)) continue;
        for (std::size_t i = row; i < row + machines_; ++i) {
            if (gpus[i] > 0 && random_.chance(chance_of_taking)) gpus[i] = 0;
        }
    }
    add_some(gpus);
}

// Of each job on average one machine that has free GPUs, and one more of those where it has some.
void GeneticSearch::add_some(GpuGrid& gpus) {
    used_.assign(machines_, 0);
    for (std::size_t row = 0; row < gpus.size(); row += machines_) {
        for (std::size_t i = 0; i < machines_; ++i) used_[i] += gpus[row + i];
    }
    std::vector<std::size_t>& free = machines_chosen_;
    free.clear();
    for (std::size_t i = 0; i < machines_; ++i) {
        if (used_[i] < each_) free.push_back(i);
    }
    if (free.empty()) return;
    const double anywhere = 1 / static_cast<double>(free.size());
    for (std::size_t row = 0; row < gpus.size(); row += machines_) {
        const auto here = std::ranges::count_if(free, [&](std::size_t i) { return gpus[row + i]; });
        const double again = 1 / static_cast<double>(std::max<std::ptrdiff_t>(1, here));
        for (const std::size_t i : free) {
            std::uint16_t& some = gpus[row + i];
            const double chance = some > 0 ? anywhere + again - anywhere * again : anywhere;
            if (!random_.chance(chance)) continue;
            some = static_cast<std::uint16_t>(random_.integer(some, each_));
        }
    }
}

// Where a row has GPUs, in the order of machines. Most rows have them on a few of many.
std::span<const std::size_t> GeneticSearch::machines_of(const std::uint16_t* row) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < machines_; ++i) {
        machines_here_[count] = i;
        count += row[i] > 0 ? 1 : 0;
    }
    return std::span(machines_here_).first(count);
}

void GeneticSearch::repair(const std::vector<SearchedJob>& jobs, GpuGrid& gpus) {
    spanned_.assign(machines_, 0);
    left_.assign(machines_, each_);
    for (std::size_t job = 0; job < jobs.size(); ++job) {
        std::uint16_t* const row = &gpus[job * machines_];
        const std::span<const std::size_t> here = machines_of(row);
        std::int32_t above = -jobs[job].gpus_most;
        for (const std::size_t i : here) {
            if (here.size() > 1) {
                if (spanned_[i] != 0) row[i] = 0;
                spanned_[i] = 1;
            }
            above += row[i];
        }
        if (above > 0) cap(row, above);
        for (const std::size_t i : here) {
            row[i] = static_cast<std::uint16_t>(std::min<std::int32_t>(row[i], left_[i]));
            left_[i] -= row[i];
        }
    }
}

// So many are taken from machines in a random order.
void GeneticSearch::cap(std::uint16_t* row, std::int32_t above) {
    std::vector<std::size_t>& order = machines_chosen_;
    order.clear();
    for (std::size_t i = 0; i < machines_; ++i) {
        if (row[i] > 0) order.push_back(i);
    }
    for (std::size_t left = order.size(); above > 0; --left) {
        const auto at = static_cast<std::size_t>(random_.integer(0, static_cast<int>(left) - 1));
        std::swap(order[at], order[left - 1]);
        std::uint16_t& some = row[order[left - 1]];
        const std::int32_t taken = std::min<std::int32_t>(above, some);
        some = static_cast<std::uint16_t>(some - taken);
        above -= taken;
    }
}

double GeneticSearch::speedup_of(const SearchedJob& job, std::size_t number, std::int32_t machines,
                                 std::int32_t gpus) {
    constexpr std::uint64_t most = 1'000'000;  // GPUs: SchedulerEntry::chooses_exactly
    const auto on = static_cast<std::uint64_t>(machines);
    const auto [known, is_new] =
        speedups_.try_emplace((number * most + on) * most + static_cast<std::uint64_t>(gpus));
    if (is_new) known->second = job.speedup(machines, gpus);
    return known->second;
}

void GeneticSearch::evaluate(const std::vector<SearchedJob>& jobs, const GpuGrid& present,
                             Individual& one) {
    double reciprocals = 0;
    double utility = 0;
    active_.assign(machines_, 0);
    for (std::size_t job = 0; job < jobs.size(); ++job) {
        const std::uint16_t* const row = &one.gpus[job * machines_];
        const std::span<const std::size_t> here = machines_of(row);
        const auto machines = static_cast<std::int32_t>(here.size());
        std::int32_t gpus = 0;
        for (const std::size_t i : here) {
            gpus += row[i];
            active_[i] = 1;
        }
        const double speedup = gpus > 0 ? speedup_of(jobs[job], job, machines, gpus) : 0;
        const bool changes = !std::equal(row, row + machines_, &present[job * machines_]);
        const double scaled =
            speedup / each_ * (changes ? jobs[job].left_by_change : 1) + least_speedup;
        reciprocals += 1 / scaled;
        utility += speedup;
    }
    const auto machines_used = std::ranges::count(active_, std::uint8_t{1});
    one.value = static_cast<double>(jobs.size()) / reciprocals;
    one.utility = machines_used > 0 ? utility / static_cast<double>(machines_used * each_) : 0;
}

// The best hundred: front by front, on the last those who are farthest from their neighbours.
void GeneticSearch::survive() {
    std::ranges::stable_sort(population_, [](const Individual& a, const Individual& b) {
        return a.value != b.value ? a.value > b.value : a.utility > b.utility;
    });
    // In this order somebody is dominated by a front if and only if by its last member.
    std::vector<std::size_t> last;  // of each front
    std::vector<std::vector<std::size_t>> fronts;
    for (std::size_t i = 0; i < population_.size(); ++i) {
        Individual& one = population_[i];
        const auto front = std::ranges::partition_point(last, [&](std::size_t at) {
            const Individual& other = population_[at];
            return dominates(other.value, other.utility, one.value, one.utility);
        });
        one.front = static_cast<std::int32_t>(front - last.begin());
        if (front == last.end()) {
            last.push_back(i);
            fronts.emplace_back();
        } else {
            *front = i;
        }
        fronts[static_cast<std::size_t>(one.front)].push_back(i);
    }
    std::vector<Individual> next;
    for (const std::vector<std::size_t>& front : fronts) {
        const auto at = [&](std::size_t i) -> Individual& { return population_[front[i]]; };
        const double values = at(0).value - at(front.size() - 1).value;
        const double utilities = at(front.size() - 1).utility - at(0).utility;
        for (std::size_t i = 0; i < front.size(); ++i) {
            const bool at_end = i == 0 || i + 1 == front.size();
            at(i).distance = std::numeric_limits<double>::infinity();
            if (at_end) continue;
            at(i).distance = 0;
            if (values > 0) at(i).distance += (at(i - 1).value - at(i + 1).value) / values;
            if (utilities > 0)
                at(i).distance += (at(i + 1).utility - at(i - 1).utility) / utilities;
        }
        std::vector<std::size_t> order(front.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, std::greater<>{},
                                 [&](std::size_t i) { return at(i).distance; });
        for (const std::size_t i : order) {
            if (std::ssize(next) == rules_.population) break;
            next.push_back(std::move(at(i)));
        }
        if (std::ssize(next) == rules_.population) break;
    }
    population_ = std::move(next);
}

}  // namespace ukemi::schedulers
