// market_problem_fleet.cpp — several machines: where they can be, and what the cheapest cost.
#include <algorithm>
#include <limits>

#include "scenarios/optimum/market_problem.hpp"
#include "sim/job/group.hpp"

namespace ukemi::scenarios {

namespace {

// Of paces, those that some worth of work makes the best: the lower hull of price over rate.
void keep_useful(std::vector<WorkingPace>& paces) {
    std::ranges::stable_sort(paces, [](const WorkingPace& a, const WorkingPace& b) {
        return a.rate != b.rate ? a.rate < b.rate : a.price < b.price;
    });
    std::vector<WorkingPace> hull;
    for (const WorkingPace& pace : paces) {
        if (!hull.empty() && hull.back().rate == pace.rate) continue;
        while (!hull.empty() && hull.back().price >= pace.price) hull.pop_back();
        while (hull.size() >= 2) {
            const WorkingPace& a = hull[hull.size() - 2];
            const WorkingPace& b = hull.back();
            const double to_b = static_cast<double>(b.price - a.price) * (pace.rate - a.rate);
            const double to_this = static_cast<double>(pace.price - a.price) * (b.rate - a.rate);
            if (to_b < to_this) break;
            hull.pop_back();
        }
        hull.push_back(pace);
    }
    paces = std::move(hull);
}

}  // namespace

void MarketProblem::cut_for_many() {
    std::vector<std::int64_t> moments{market_.provisioning.raw() + changes_.spawn};
    for (std::uint32_t zone = 0; zone < spot_.zone_count(); ++zone) {
        for (const PriceStep& step : spot_.prices(zone)) moments.push_back(step.at);
        for (const std::int32_t count : spot_.counts()) {
            for (const Stay& stay : spot_.stays(zone, count)) {
                moments.push_back(stay.from);
                moments.push_back(stay.until);
            }
        }
    }
    cut_at(std::move(moments));
}

std::vector<MarketProblem::Slots> MarketProblem::all_slots() const {
    std::vector<Slots> slots(intervals());
    std::int64_t on_demand = std::numeric_limits<std::int64_t>::max();
    for (const sim::ZoneData& zone : market_.zones) {
        on_demand = std::min(on_demand, zone.on_demand_price.raw());
    }
    for (Slots& each : slots) each.on_demand = on_demand;
    for (std::uint32_t zone = 0; zone < spot_.zone_count(); ++zone) {
        const std::vector<std::int32_t> held = held_in(zone);
        for (std::size_t node = 0; node < intervals(); ++node) {
            const std::int64_t price =
                spot_.price(zone, problem_.nodes[node], problem_.nodes[node + 1]);
            slots[node].spot.insert(slots[node].spot.end(), static_cast<std::size_t>(held[node]),
                                    price);
        }
    }
    for (Slots& each : slots) std::ranges::sort(each.spot);
    return slots;
}

std::vector<std::int32_t> MarketProblem::held_in(std::uint32_t zone) const {
    std::vector<std::int32_t> held(intervals(), 0);
    const auto counts = spot_.counts();
    for (std::size_t level = 0; level < counts.size(); ++level) {
        // Where not every count is looked at, as many as the next one allows, but one.
        const std::int32_t granted =
            level + 1 < counts.size() ? counts[level + 1] - 1 : spot_.count_most();
        for (const Stay& stay : spot_.stays(zone, counts[level])) {
            for (std::size_t node = first_node(stay.from); node < intervals(); ++node) {
                if (problem_.nodes[node + 1] > stay.until) break;
                held[node] = std::max(held[node], granted);
            }
        }
    }
    return held;
}

// The cheapest `count` of them, of which at most `spot_most` are spot.
std::int64_t MarketProblem::price_of(const Slots& slots, std::int32_t count,
                                     std::int32_t spot_most) {
    std::int64_t sum = 0;
    std::int32_t placed = 0;
    for (const std::int64_t price : slots.spot) {
        if (placed == count || placed == spot_most || price >= slots.on_demand) break;
        sum += price;
        ++placed;
    }
    return sum + (count - placed) * slots.on_demand;
}

void MarketProblem::open_all(Place& place) const {
    const std::int64_t first = market_.provisioning.raw() + changes_.spawn;
    open(place, first, horizon_);
    for (std::size_t node = 0; node < intervals(); ++node) {
        place.held[node] = place.held[node] && problem_.nodes[node] >= first;
    }
}

double MarketProblem::speed_most() const {
    return static_cast<double>(fastest_zone(market_)) *
           static_cast<double>(fastest_machine(market_.rules)) / 1e6;
}

// A gang: it trains with so many spot machines and the rest on demand, or waits with nothing,
// or waits with one machine that keeps the state.
void MarketProblem::state_gang() {
    cut_for_many();
    const std::int32_t size = most_;
    const auto counts = spot_.counts();
    if (!fits(counts.size() + 1, 1)) return;
    slots_ = all_slots();
    for (std::size_t level = 0; level <= counts.size(); ++level) {
        const std::int32_t least = level == 0 ? 0 : counts[level - 1];
        const std::int32_t most = level == 0 ? 0 : level < counts.size() ? counts[level] - 1 : size;
        Place place = empty_place();
        place.entry_rate = speed_most();
        for (std::size_t node = 0; node < intervals(); ++node) {
            place.held[node] = std::ssize(slots_[node].spot) >= least;
            place.paces[node] = {{speed_most(), price_of(slots_[node], size, most)}};
        }
        open_all(place);
        problem_.places.push_back(std::move(place));
    }
    connect_gang();
    problem_.work = static_cast<double>(work_time(policies::rate_of(profile_, job_.plan, size)));
}

void MarketProblem::connect_gang() {
    const bool together = sim::group_rules(job_).falls_together;
    // With one machine fewer at a time the state may pass through any change of bids and age.
    const bool strict = together && !saved_by_hand();
    problem_.rests.assign(strict ? 2 : 3, free_rest());
    std::int64_t cheapest = std::numeric_limits<std::int64_t>::max();
    for (std::size_t node = 0; node < intervals(); ++node) {
        const std::int64_t one = price_of(slots_[node], 1, 1);
        cheapest = std::min(cheapest, one);
        if (!strict) problem_.rests[2].price[node] = one;
    }
    connect();
    for (std::size_t place = 0; place < problem_.places.size(); ++place) {
        problem_.enter[0][place] = {true, changes_.start, 0};
        problem_.enter[1][place] = {true, changes_.start + changes_.restore, 0};
        if (strict) {
            problem_.leave[place][1] = {true, changes_.save, 0};
            continue;
        }
        // One machine that stays saves alone.
        problem_.leave[place][1] = {true, 0, RawCharge{cheapest} * changes_.save};
        problem_.leave[place][2] = {true, 0, 0};
        problem_.enter[2][place] = {true, changes_.survive, 0};
    }
}

// A fleet that grows and shrinks: once it trains it is as large as is cheapest at each moment.
void MarketProblem::state_fleet() {
    cut_for_many();
    const auto sizes = static_cast<std::size_t>(most_ - job_.workers_min + 1);
    if (!fits(1, sizes)) return;
    std::vector<double> rates;
    double least_rate = std::numeric_limits<double>::infinity();
    for (std::int32_t size = job_.workers_min; size <= most_; ++size) {
        const policies::StepRate rate = policies::rate_of(profile_, job_.plan, size);
        const auto samples = static_cast<double>(policies::samples_per_step(job_.plan, size));
        rates.push_back(samples * static_cast<double>(rate.steps) /
                        static_cast<double>(rate.per.raw()) * speed_most());
        least_rate = std::min(least_rate, rates.back());
    }
    Place place = empty_place();
    place.entry_rate = least_rate;
    slots_ = all_slots();
    for (std::size_t node = 0; node < intervals(); ++node) {
        place.held[node] = true;
        for (std::int32_t size = job_.workers_min; size <= most_; ++size) {
            const double rate = rates[static_cast<std::size_t>(size - job_.workers_min)];
            place.paces[node].push_back({rate, price_of(slots_[node], size, size)});
        }
        keep_useful(place.paces[node]);
    }
    open_all(place);
    problem_.places.push_back(std::move(place));
    problem_.rests.assign(2, free_rest());
    connect();
    problem_.enter[0][0] = {true, changes_.start, 0};
    problem_.enter[1][0] = {true, changes_.survive, 0};
    problem_.leave[0][1] = {true, 0, 0};
    problem_.work = static_cast<double>(job_.samples_total) * (1 - 1e-9);
}

}  // namespace ukemi::scenarios
