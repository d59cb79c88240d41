// least_cost.hpp — the cheapest way through a day of changing prices: when to hold which machines
// so that a given amount of work is done in time.
//
// Time is cut at nodes; between two of them nothing changes. At any moment one is either in a Rest
// (waits) or at a Place (holds machines and works). Entering and leaving a Place cost time at its
// rate, and money. The value is a dynamic programme over (place, work done): first its Lagrangian
// dual, which is a lower bound and takes a pass or two a dozen; then, where every Place has one
// rate, labels of (work, charge) that the dual bounds cut down, until one schedule is proved the
// cheapest or `labels_max` is reached. In a cheapest schedule at most one entry or exit lies
// between nodes: any two could be moved against each other, at no cost or to advantage, until one
// reaches a node. So a label is a point, or a segment that stands for one such move.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/quantity.hpp"

namespace ukemi::scenarios {

// Nano-dollars × nanoseconds / hour, as in Charge.
using RawCharge = Int128;

struct WorkingPace {
    double rate = 0;         // work a nanosecond; a whole number where labels are wanted
    std::int64_t price = 0;  // of all machines together: nano-dollars an hour
};

struct Place {
    // By interval, which begins at the node of its number. Several paces: whichever is best, and
    // the best may change freely.
    std::vector<std::vector<WorkingPace>> paces;
    std::vector<bool> held;            // machines can be held throughout this interval
    std::vector<bool> entered_at;      // by node: may be entered there
    std::vector<bool> entered_within;  // by interval: may be entered anywhere in it
    std::vector<bool> left_at;         // by node: may be left there
    bool left_within = true;           // may be left between nodes
    // What is paid before it is entered, by node; straight in between where it may be entered.
    std::vector<RawCharge> before_entry;
    double entry_rate = 0;  // work that a nanosecond of entry takes away: the least of its rates
};

struct Rest {
    std::vector<std::int64_t> price;  // of waiting, by interval
};

struct Passage {  // between a Rest and a Place
    bool open = false;
    std::int64_t lost = 0;  // nanoseconds in which nothing is done
    RawCharge charge = 0;   // paid besides
};

struct LeastCostProblem {
    std::vector<std::int64_t> nodes;  // instants, ascending; the last is the latest end
    std::vector<Place> places;
    std::vector<Rest> rests;                  // one begins in the first
    std::vector<std::vector<Passage>> enter;  // by rest, place
    std::vector<std::vector<Passage>> leave;  // by place, rest
    double work = 0;
    bool one_pace = false;  // each place has one pace, all numbers are whole: labels can be kept
    std::size_t labels_max = 512;  // of one place or rest at one node
};

struct LeastCost {
    RawCharge at_least = 0;          // no schedule is cheaper
    std::optional<RawCharge> found;  // what a schedule costs that was found
};

// Empty if no schedule does the work in time.
std::optional<LeastCost> least_cost(const LeastCostProblem& problem);

}  // namespace ukemi::scenarios
